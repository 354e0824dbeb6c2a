import { seeded } from '../chaos/seeded';

/** A median with its 95 % bootstrap interval. */
export interface Interval {
  median: number;
  low: number;
  high: number;
}

const RESAMPLES = 2000;
const CONFIDENCE = 0.95;

/** Returns the items in random order. */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}

/**
 * The value below which `part` of the values lie, by nearest rank.
 * @throws RangeError without values
 */
export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const value = sorted[Math.max(Math.ceil(sorted.length * part) - 1, 0)];
  if (value === undefined) throw new RangeError('no values');
  return value;
}

/** @throws RangeError without values */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)];
  if (upper === undefined) throw new RangeError('no values');
  return Number.isInteger(middle) ? (sorted[middle - 1]! + upper) / 2 : upper;
}

/** The median of values that were measured once per block. The interval shows how far other blocks could move it. */
function medianInterval(values: readonly number[]): Interval {
  const random = seeded(1).next;
  const medians = Array.from({ length: RESAMPLES }, () =>
    median(values.map(() => values[Math.floor(random() * values.length)]!)),
  );
  const tail = (1 - CONFIDENCE) / 2;
  return { median: median(values), low: percentile(medians, tail), high: percentile(medians, 1 - tail) };
}

/** The ratio inside each block, so that what changes between blocks cancels out; then the median of the blocks. */
export function ratioInterval(ours: readonly number[], theirs: readonly number[]): Interval {
  return medianInterval(ours.map((value, block) => value / theirs[block]!));
}
