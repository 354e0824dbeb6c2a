import { markdownTable } from '../bench/table';
import type { Ledger, Try } from '../chaos/ledger';

/** A part of a cell, from its fault or the end of a fault until the next part. In ms of `performance.now()`. */
export interface Phase {
  name: string;
  from: number;
  to: number;
}

/** What callers saw of a kind of call in a phase: a call is one or more tries. Times are in ms. */
export interface Figures {
  calls: number;
  /** The calls of which a try failed. */
  failed: number;
  /** The statuses of the tries that failed. */
  statuses: number[];
  /** When the last call that failed began, from the beginning of the phase. */
  failedUntil: number;
  /** The same for calls that took more than a second. */
  slowUntil: number;
  /** The longest time in which no call succeeded. */
  stopped: number;
  /** The longest call. */
  longest: number;
}

const SLOW_MS = 1000;

/** A call that began before the phase belongs to it too if it ended there. */
export function figuresOf({ tries }: Ledger, kind: Try['kind'], { from, to }: Phase): Figures {
  const own = tries.filter((one) => one.kind === kind && one.endedAt >= from && one.calledAt < to);
  const failures = own.filter(({ isSuccess }) => !isSuccess);
  const successes = own.filter(({ isSuccess }) => isSuccess);
  const callsOf = (some: Try[]): number[] => [...new Set(some.map(({ calledAt }) => calledAt))];
  const until = (some: Try[]): number => Math.max(0, ...callsOf(some).map((calledAt) => calledAt - from));
  const waited = ({ calledAt, endedAt }: Try): number => endedAt - Math.max(calledAt, from);
  const ends = successes
    .map(({ endedAt }) => endedAt)
    .filter((at) => at < to)
    .toSorted((a, b) => a - b);
  return {
    calls: callsOf(own).length,
    failed: callsOf(failures).length,
    statuses: [...new Set(failures.map(({ status }) => status))].toSorted((a, b) => a - b),
    failedUntil: until(failures),
    slowUntil: until(successes.filter((one) => waited(one) > SLOW_MS)),
    stopped: Math.max(...[...ends, to].map((at, index) => at - (ends[index - 1] ?? from))),
    longest: Math.max(0, ...successes.map(waited)),
  };
}

const seconds = (ms: number): string => (ms / 1000).toFixed(1);

export function tableOf(ledger: Ledger, phases: readonly Phase[]): string {
  const rows = phases.flatMap((phase) =>
    (['create', 'read', 'change'] as const).map((kind) => {
      const { calls, failed, statuses, ...times } = figuresOf(ledger, kind, phase);
      const what = `${failed} of ${calls} ${statuses.join(', ')}`;
      return [phase.name, kind, what, ...Object.values(times).map(seconds)];
    }),
  );
  const columns = ['failed', 'the last after, s', 'above 1 s until, s', 'none succeeded for, s', 'longest call, s'];
  return markdownTable(['phase', 'calls', ...columns], rows);
}
