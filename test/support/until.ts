import { setTimeout as delay } from 'node:timers/promises';

/**
 * Polls `probe` until it returns a truthy value, and returns that value.
 * @throws Error naming `what` after `timeoutMs`
 */
export async function until<T>(
  probe: () => T | Promise<T>,
  what: string | (() => string),
  timeoutMs = 60_000,
): Promise<NonNullable<T>> {
  const startedAt = Date.now();
  const deadline = startedAt + timeoutMs;
  for (;;) {
    // A machine that stalls may reach the deadline with a probe from long before it.
    const isLast = Date.now() > deadline;
    const value = await probe();
    if (value) return value;
    if (isLast) throw new Error(`timed out waiting until ${typeof what === 'string' ? what : what()}`);
    // A tenth of the time so far: polls take processor time that the other tests need.
    await delay(Math.min(Math.max((Date.now() - startedAt) / 10, 25), 250));
  }
}
