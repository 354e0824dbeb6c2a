/** Everything random in a run comes from its seed. */
export interface Seeded {
  /** A number in [0, 1). */
  next: () => number;
  /** An integer from `min` to `max`. */
  between: (min: number, max: number) => number;
  pick: <T>(items: readonly T[]) => T;
  /** True with this probability. */
  chance: (probability: number) => boolean;
}

/** @param name separates the random numbers of different purposes, such as the cells */
export function seeded(seed: number, name = ''): Seeded {
  const next = mulberry32(Buffer.from(name).reduce((sum, byte) => Math.imul(sum, 31) + byte, seed));
  const between = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    between,
    pick: (items) => items[between(0, items.length - 1)]!,
    chance: (probability) => next() < probability,
  };
}

/** Mulberry32: a seeded generator of numbers in [0, 1). */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
