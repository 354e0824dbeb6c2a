import { lock } from 'proper-lockfile';

const OPTIONS = {
  // The target need not exist yet.
  realpath: false,
  /** Milliseconds. A living holder renews the lock twice in this time; after it, the lock of a dead one is free. */
  stale: 10_000,
  // A process that was suspended loses its lock. By default that would be an uncaught exception.
  onCompromised: () => undefined,
};

/**
 * Runs `work` while this process holds `<target>.lock`. A process that is suspended for longer than the lock is valid
 * loses it without notice, so `work` must tolerate a second process.
 */
export async function withLock<T>(target: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  const release = await lock(target, OPTIONS).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ELOCKED') throw error;
    onWait();
    return lock(target, { ...OPTIONS, retries: { forever: true, minTimeout: 200, maxTimeout: 200 } });
  });
  try {
    return await work();
  } finally {
    // Fails if the lock was lost.
    await release().catch(() => undefined);
  }
}
