import { Semaphore } from 'async-mutex';

/** Runs at most `limit` pieces of work of each key at the same time. Further ones wait in order. */
export function limitPerKey(limit: number) {
  const semaphores = new Map<string, Semaphore>();
  return {
    isFull: (key: string): boolean => semaphores.get(key)?.isLocked() ?? false,
    async run<T>(key: string, work: () => Promise<T>): Promise<T> {
      const semaphore = semaphores.get(key) ?? new Semaphore(limit);
      semaphores.set(key, semaphore);
      try {
        return await semaphore.runExclusive(work);
      } finally {
        if (semaphore.getValue() === limit) semaphores.delete(key);
      }
    },
  };
}
