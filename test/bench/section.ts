import type { Servers } from './servers';
import { type Interval, ratioInterval, shuffled } from './statistics';

/** What a section gets. */
export interface Bench {
  servers: Servers;
  blocks: number;
  short: boolean;
  random: () => number;
}

/** The goal of a row: a bound of its ratio, or of this service's own value. */
interface Goal {
  of: 'ratio' | 'value';
  atMost?: number;
  atLeast?: number;
}

/** A comparison of this service with another arm. */
export interface Row {
  what: string;
  against: string;
  unit: 'ms' | '/s' | 'MB' | '';
  /** Medians of the blocks. */
  ours: number;
  theirs?: number;
  /** Ours divided by theirs, inside each block. */
  ratio?: Interval;
  goal?: Goal;
}

/** A table of what has no comparison, such as counts. */
interface Table {
  title: string;
  header: string[];
  rows: (string | number)[][];
}

export interface SectionResult {
  blocks: number;
  rows: Row[];
  tables?: Table[];
}

export interface Section {
  /** What is measured. */
  about: string;
  run: (bench: Bench) => Promise<SectionResult>;
}

/** Chooses the size of a load: the default run, or the short form. */
export const sizeOf = ({ short }: Bench, full: number, small: number): number => (short ? small : full);

/**
 * Runs every arm once per block, one at a time and in random order, after a first round that only warms up.
 * @returns each arm's values, one per block
 */
export async function inBlocks<Name extends string, T>(
  { blocks, random }: Bench,
  arms: Record<Name, (isWarmUp: boolean) => Promise<T>>,
): Promise<Record<Name, T[]>> {
  const names = Object.keys(arms) as Name[];
  const values = Object.fromEntries(names.map((name) => [name, [] as T[]])) as Record<Name, T[]>;
  for (const name of names) await arms[name](true);
  for (let block = 0; block < blocks; block++) {
    for (const name of shuffled(names, random)) values[name].push(await arms[name](false));
  }
  return values;
}

/** A row from values that were measured once per block. */
export function compare(
  { what, against, unit, goal }: Pick<Row, 'what' | 'against' | 'unit' | 'goal'>,
  ours: readonly number[],
  theirs: readonly number[],
): Row {
  return {
    ...{ what, against, unit },
    ours: middle(ours),
    theirs: middle(theirs),
    ratio: ratioInterval(ours, theirs),
    ...(goal && { goal }),
  };
}

const middle = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** True if the row's median meets its goal; undefined without a goal. */
export function meetsGoal({ ours, ratio, goal }: Row): boolean | undefined {
  if (!goal) return undefined;
  const value = goal.of === 'ratio' ? ratio!.median : ours;
  return value <= (goal.atMost ?? Infinity) && value >= (goal.atLeast ?? -Infinity);
}
