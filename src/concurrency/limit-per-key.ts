import { E_TIMEOUT, Semaphore, withTimeout } from 'async-mutex';

/** Thrown by `run` if the work has waited for longer than `maxWaitMs`. The work has not started. */
export const WAITED_TOO_LONG = E_TIMEOUT;

/**
 * Runs at most `limit` pieces of work of each key at the same time. Further ones wait in order.
 * @param maxWaitMs the longest wait; without limit if it is missing
 */
export function limitPerKey(limit: number, maxWaitMs?: number) {
  const create = () => (maxWaitMs === undefined ? new Semaphore(limit) : withTimeout(new Semaphore(limit), maxWaitMs));
  const semaphores = new Map<string, ReturnType<typeof create>>();
  return {
    isFull: (key: string): boolean => semaphores.get(key)?.isLocked() ?? false,
    /** @throws WAITED_TOO_LONG */
    async run<T>(key: string, work: () => Promise<T>): Promise<T> {
      const semaphore = semaphores.get(key) ?? create();
      semaphores.set(key, semaphore);
      try {
        return await semaphore.runExclusive(work);
      } finally {
        if (semaphore.getValue() === limit) semaphores.delete(key);
      }
    },
  };
}
