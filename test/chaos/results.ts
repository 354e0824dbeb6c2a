import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import type { RunOptions, RunResult } from './run';

/** Increase it when a cell or a check becomes stricter: from then on, earlier runs do not count as made. */
const HARNESS = 4;

const FILE = path.join(PACKAGE_ROOT, 'test/chaos/results.jsonl');
const PAGE = path.join(PACKAGE_ROOT, 'docs/reliability.md');
const TABLE = /(<!-- table -->\n)[\s\S]*?(<!-- end of the table -->)/;
const MOST_FAULTS = 3;
/** As many seeds as a cell should have. */
const SEEDS = 10;
const PARTS = ['finishMs', 'quietMs', 'factsMs', 'replayMs'] as const;

/** A line of the results: a run. One that broke an invariant stays, also after a later run that did not. */
export interface RecordedRun {
  cell: string;
  group: string;
  seed: number;
  variant?: string;
  /** UTC, to the minute. */
  at: string;
  commit: string;
  /** See `productDigest`. */
  product: string;
  harness: number;
  /** The product of `--old-root`. */
  oldProduct?: string;
  /** Customers and abandoned orders per second. */
  rate: number;
  abandoned: number;
  orders: number;
  /** How many of the orders were abandoned. */
  abandonedOrders: number;
  /** Successful calls per second before the fault. */
  callsPerS?: number;
  /** Null if throughput was not back in time, undefined if it is not measured. */
  recoveryMs?: number | null;
  durationMs: number;
  /** Parts of it: see `RunResult`. */
  finishMs?: number;
  quietMs?: number;
  factsMs?: number;
  replayMs?: number;
  /** True once the end of its stack has shown that nothing was left for the sweep. */
  swept?: true;
  broken: number;
  /** The first broken invariants. */
  faults?: string[];
  /** Why they were broken, once known. Written by hand. */
  cause?: string;
}

type Version = Pick<RecordedRun, 'commit' | 'product' | 'harness'>;

/** Names the product of a folder: the source files of service, workflows and activities as they are. */
export function productDigest(root = PACKAGE_ROOT): string {
  const hash = createHash('sha256');
  for (const folder of ['src', 'workflows', 'activities']) {
    for (const name of readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).sort()) {
      const file = path.join(root, folder, name);
      if (statSync(file).isFile()) hash.update(`${folder}/${name}\0`).update(readFileSync(file));
    }
  }
  return hash.digest('hex').slice(0, 12);
}

/** Read it once, when the process starts: what runs is `dist/`, whatever happens to the sources later. */
export const currentVersion = (): Version => ({ commit: commit(), product: productDigest(), harness: HARNESS });

export const readResults = (): RecordedRun[] => (existsSync(FILE) ? parseResults(readFileSync(FILE, 'utf8')) : []);

/** Parallel runners append to the file, so a last line without an end is being written. */
export function parseResults(text: string): RecordedRun[] {
  const lines = text
    .split('\n')
    .slice(0, -1)
    .filter((line) => line !== '');
  return lines.reduce<RecordedRun[]>((runs, line) => addRun(runs, JSON.parse(line) as RecordedRun), []);
}

type Code = Omit<Version, 'commit'>;

const isOf = (run: Code, { product, harness }: Code): boolean => run.product === product && run.harness === harness;

/** The runs that this version of product and harness has passed, with the check of the sweep at the end of the stack. */
export function passedRuns(runs: readonly RecordedRun[], version: Code): RecordedRun[] {
  return runs.filter((run) => run.broken === 0 && run.swept && isOf(run, version));
}

/** Adds a run. It replaces one of the same cell, seed and version that broke nothing. */
export function addRun(runs: readonly RecordedRun[], run: RecordedRun): RecordedRun[] {
  const isReplaced = (one: RecordedRun): boolean =>
    one.cell === run.cell && one.seed === run.seed && one.broken === 0 && isOf(one, run);
  return [...runs.filter((one) => !isReplaced(one)), run];
}

export function recordRun(
  { name, group }: { name: string; group: string },
  result: RunResult,
  { rate, abandonedRate = 0, oldRoot }: RunOptions,
  version: Version,
  isSwept = false,
): void {
  const { seed, variant, orders, abandonedOrders, baseline, recoveryMs, durationMs, broken } = result;
  const run: RecordedRun = {
    ...{ cell: name, group, seed },
    ...(variant !== undefined && { variant }),
    at: new Date().toISOString().slice(0, 16) + 'Z',
    ...version,
    ...(oldRoot !== undefined && group === 'deployment' && { oldProduct: productDigest(oldRoot) }),
    ...{ rate, abandoned: abandonedRate, orders, abandonedOrders },
    ...(baseline !== undefined && { callsPerS: Math.round(baseline) }),
    ...(recoveryMs !== undefined && { recoveryMs: recoveryMs && Math.round(recoveryMs) }),
    durationMs: Math.round(durationMs),
    ...Object.fromEntries(
      PARTS.flatMap((part) => (result[part] === undefined ? [] : [[part, Math.round(result[part])]])),
    ),
    ...(isSwept && { swept: true }),
    broken: broken.length,
    ...(broken.length > 0 && { faults: broken.slice(0, MOST_FAULTS).map(({ fault }) => fault) }),
  };
  appendFileSync(FILE, `${JSON.stringify(run)}\n`);
}

/** The commit; with a "+" if files were changed, except those that a run writes. */
function commit(): string {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: PACKAGE_ROOT, encoding: 'utf8' }).trim();
  const written = [FILE, PAGE].map((file) => `:!${path.relative(PACKAGE_ROOT, file)}`);
  // In a worktree, node_modules can be a link, which .gitignore does not cover.
  const changed = git('status', '--porcelain', '--', '.', ':!node_modules', ...written);
  return `${git('rev-parse', '--short', 'HEAD')}${changed === '' ? '' : '+'}`;
}

/** Writes the table of docs/reliability.md from the results. */
export function writePage(version: Version): void {
  const page = readFileSync(PAGE, 'utf8');
  const text = tablesOf(readResults(), version);
  writeFileSync(
    PAGE,
    page.replace(TABLE, (_all, start: string, end: string) => `${start}\n${text}\n\n${end}`),
  );
}

/** The runs of each cell, those of each version, and those that broke an invariant. */
export function tablesOf(runs: readonly RecordedRun[], version: Code): string {
  if (runs.length === 0) return 'No run is recorded yet.';
  const cells = [...new Set(runs.map(({ cell }) => cell))];
  const sum = (of: readonly RecordedRun[], value: (run: RecordedRun) => number): number =>
    of.reduce((total, run) => total + value(run), 0);
  const seconds = (ms: number | undefined): string => (ms === undefined ? '–' : (ms / 1000).toFixed(1));
  const row = (name: string, of: readonly RecordedRun[]): string => {
    const passed = passedRuns(of, version);
    const times = passed.flatMap(({ recoveryMs }) => recoveryMs ?? []).sort((a, b) => a - b);
    const values = [
      name,
      seedsOf(passed),
      sum(passed, ({ orders }) => orders),
      sum(passed, ({ abandonedOrders }) => abandonedOrders),
      `${seconds(times[Math.floor(times.length / 2)])} / ${seconds(times.at(-1))}`,
      of.filter(({ broken }) => broken > 0).length,
      seedsOf(of),
    ];
    return `| ${[...values, range(of, ({ at }) => at.slice(0, 10)), range(of, ({ commit: id }) => id)].join(' | ')} |`;
  };
  const versionRow = (of: Code): string => {
    const passed = passedRuns(runs, of);
    const seeds = cells.map((cell) => seedsOf(passed.filter((run) => run.cell === cell)));
    const values = [
      ...[of.product, of.harness, seeds.filter((count) => count >= SEEDS).length, passed.length],
      ...[sum(passed, ({ orders }) => orders), sum(passed, ({ abandonedOrders }) => abandonedOrders)],
      ...[range(passed, ({ at }) => at.slice(0, 10)), range(passed, ({ commit: id }) => id)],
    ];
    return `| ${values.join(' | ')} |`;
  };
  const versions = new Map(runs.map((run) => [`${run.product} ${run.harness}`, run]));
  const failures = runs.filter(({ broken }) => broken > 0);
  return [
    `Product ${version.product}, harness ${version.harness}. Seeds, orders and throughput are those of its passed runs:`,
    '',
    '| cell | seeds passed | orders | of them abandoned | throughput back, s: median / longest | failed runs, all versions | seeds, all versions | ran | commits |',
    '|---|--:|--:|--:|--:|--:|--:|---|---|',
    ...cells.map((cell) =>
      row(
        cell,
        runs.filter((run) => run.cell === cell),
      ),
    ),
    row(`**these ${cells.length} cells**`, runs),
    '',
    `| product | harness | cells with ${SEEDS} seeds | runs passed | orders | of them abandoned | ran | commits |`,
    '|---|--:|--:|--:|--:|--:|---|---|',
    ...[...versions.values()].filter((of) => passedRuns(runs, of).length > 0).map(versionRow),
    ...(failures.length > 0
      ? [
          '',
          '| failed run | ran | commit | broken invariants | cause |',
          '|---|---|---|---|---|',
          ...failures.map(
            ({ cell, seed, at, commit: id, broken, faults = [], cause = '**not known yet**' }) =>
              `| ${cell}, seed ${seed} | ${at} | ${id} | ${broken}: ${faults.join('; ').trim().replace(/\s+/g, ' ').replaceAll('|', '\\|')} | ${cause} |`,
          ),
        ]
      : []),
  ].join('\n');
}

/** How many different seeds of cells ran. */
const seedsOf = (runs: readonly RecordedRun[]): number => new Set(runs.map(({ cell, seed }) => `${cell} ${seed}`)).size;

/** From the first run to the last one. */
function range(runs: readonly RecordedRun[], value: (run: RecordedRun) => string): string {
  const inOrder = runs.toSorted((a, b) => a.at.localeCompare(b.at)).map(value);
  return [...new Set([inOrder[0], inOrder.at(-1)])].join(' to ');
}
