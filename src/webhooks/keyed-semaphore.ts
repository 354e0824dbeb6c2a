/** Lets each holder have `limit` things at once, so that no one takes all there are. */
export interface KeyedSemaphore {
  /** False where the holder has its share already; what was taken is to be given back. */
  tryAcquire(holder: string): boolean;
  release(holder: string): void;
}

export function createKeyedSemaphore(limit: number): KeyedSemaphore {
  const taken = new Map<string, number>();
  return {
    tryAcquire(holder) {
      const count = taken.get(holder) ?? 0;
      if (count >= limit) return false;
      taken.set(holder, count + 1);
      return true;
    },
    release(holder) {
      const count = taken.get(holder) ?? 0;
      if (count > 1) taken.set(holder, count - 1);
      else taken.delete(holder);
    },
  };
}
