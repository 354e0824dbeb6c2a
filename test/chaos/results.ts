import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import type { RunResult } from './run';

const FILE = path.join(PACKAGE_ROOT, 'test/chaos/results.jsonl');
const PAGE = path.join(PACKAGE_ROOT, 'docs/reliability.md');
const TABLE = /(<!-- table -->\n)[\s\S]*?(<!-- end of the table -->)/;

/** A line of the results: the newest run of a cell with a seed. */
export interface RecordedRun {
  cell: string;
  group: string;
  seed: number;
  /** UTC, to the minute. */
  at: string;
  commit: string;
  orders: number;
  /** Successful calls per second before the fault. */
  callsPerS?: number;
  /** Null if throughput was not back in time, undefined if it is not measured. */
  recoveryMs?: number | null;
  durationMs: number;
  broken: number;
}

export function readResults(): RecordedRun[] {
  if (!existsSync(FILE)) return [];
  const lines = readFileSync(FILE, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as RecordedRun);
}

/** Adds a run to the results. It replaces an earlier run of the same cell and seed. */
export function recordRun({ name, group }: { name: string; group: string }, result: RunResult): void {
  const { seed, orders, baseline, recoveryMs, durationMs, broken } = result;
  const run: RecordedRun = {
    ...{ cell: name, group, seed },
    at: new Date().toISOString().slice(0, 16) + 'Z',
    commit: commit(),
    orders,
    ...(baseline !== undefined && { callsPerS: Math.round(baseline) }),
    ...(recoveryMs !== undefined && { recoveryMs: recoveryMs && Math.round(recoveryMs) }),
    durationMs: Math.round(durationMs),
    broken: broken.length,
  };
  const others = readResults().filter((other) => other.cell !== name || other.seed !== seed);
  writeFileSync(FILE, [...others, run].map((line) => `${JSON.stringify(line)}\n`).join(''));
}

function commit(): string {
  return execFileSync('git', ['describe', '--always', '--dirty=+'], { cwd: PACKAGE_ROOT, encoding: 'utf8' }).trim();
}

/** Writes the table of docs/reliability.md from the results. */
export function writePage(): void {
  const page = readFileSync(PAGE, 'utf8');
  writeFileSync(
    PAGE,
    page.replace(TABLE, (_all, start: string, end: string) => `${start}\n${table()}\n${end}`),
  );
}

function table(): string {
  const runs = readResults();
  const cells = [...new Set(runs.map(({ cell }) => cell))];
  const sum = (of: RecordedRun[], value: (run: RecordedRun) => number): number =>
    of.reduce((total, run) => total + value(run), 0);
  const row = (name: string, of: RecordedRun[]): string => {
    const times = of.flatMap(({ recoveryMs }) => recoveryMs ?? []).sort((a, b) => a - b);
    const late = of.filter(({ recoveryMs }) => recoveryMs === null).length;
    const seconds = (ms: number | undefined): string => (ms === undefined ? '–' : (ms / 1000).toFixed(1));
    const dates = of.map(({ at }) => at.slice(0, 10)).sort();
    const days = [...new Set([dates[0], dates.at(-1)])].join(' to ');
    const recovered = `${seconds(times[Math.floor(times.length / 2)])} / ${seconds(times.at(-1))}${late ? `, ${late} later` : ''}`;
    const cellsOf = [name, of.length, sum(of, (run) => run.orders), recovered, sum(of, (run) => run.broken), days];
    return `| ${cellsOf.join(' | ')} |`;
  };
  return [
    '| cell | seeds | orders | throughput back, s: median / longest | broken invariants | ran |',
    '|---|--:|--:|--:|--:|---|',
    ...cells.map((cell) =>
      row(
        cell,
        runs.filter((run) => run.cell === cell),
      ),
    ),
    row(`**all ${cells.length} cells**`, runs),
    '',
  ].join('\n');
}
