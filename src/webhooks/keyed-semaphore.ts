/** Limits how many slots each key holds at once, so that one seller cannot use all of them. */
export interface KeyedSemaphore {
  /** False if the key already holds `limit` slots. Release each acquired slot. */
  tryAcquire(key: string): boolean;
  release(key: string): void;
}

export function createKeyedSemaphore(limit: number): KeyedSemaphore {
  const held = new Map<string, number>();
  return {
    tryAcquire(key) {
      const count = held.get(key) ?? 0;
      if (count >= limit) return false;
      held.set(key, count + 1);
      return true;
    },
    release(key) {
      const count = held.get(key) ?? 0;
      if (count > 1) held.set(key, count - 1);
      else held.delete(key);
    },
  };
}
