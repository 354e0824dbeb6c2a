/** Lets each holder have `limit` things at once, so that no one takes all there are. */
export interface Share {
  /** False where the holder has its share already; what was taken is to be given back. */
  take(holder: string): boolean;
  giveBack(holder: string): void;
}

export function createShare(limit: number): Share {
  const taken = new Map<string, number>();
  return {
    take(holder) {
      const count = taken.get(holder) ?? 0;
      if (count >= limit) return false;
      taken.set(holder, count + 1);
      return true;
    },
    giveBack(holder) {
      const count = taken.get(holder) ?? 0;
      if (count > 1) taken.set(holder, count - 1);
      else taken.delete(holder);
    },
  };
}
