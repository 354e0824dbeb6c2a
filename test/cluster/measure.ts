import { markdownTable } from '../bench/table';
import type { Ledger, Try } from '../chaos/ledger';

/** A part of a cell, from its fault or the end of a fault until the next part. In ms of `performance.now()`. */
export interface Phase {
  name: string;
  from: number;
  to: number;
}

/** What callers saw of a kind of call in a phase. Times are in ms. */
export interface Figures {
  tries: number;
  failed: number;
  /** When the last try that failed began, from the beginning of the phase. */
  failedUntil: number;
  /** The same for tries that took more than a second. */
  slowUntil: number;
  /** The longest time in which no try succeeded. */
  stopped: number;
  /** The longest call, with its repeats. */
  longest: number;
}

const SLOW_MS = 1000;

/** A try that began before the phase belongs to it if it ended there. */
export function figuresOf({ tries }: Ledger, kind: Try['kind'], { from, to }: Phase): Figures {
  const own = tries.filter((one) => one.kind === kind && one.endedAt >= from && one.startedAt < to);
  const failures = own.filter(({ isSuccess }) => !isSuccess);
  const slow = own.filter(({ startedAt, endedAt }) => endedAt - Math.max(startedAt, from) > SLOW_MS);
  const until = (some: Try[]): number => Math.max(0, ...some.map(({ startedAt }) => startedAt - from));
  const successes = own.filter(({ isSuccess }) => isSuccess);
  const ends = successes
    .map(({ endedAt }) => endedAt)
    .filter((at) => at < to)
    .toSorted((a, b) => a - b);
  return {
    ...{ tries: own.length, failed: failures.length, failedUntil: until(failures), slowUntil: until(slow) },
    stopped: Math.max(...[...ends, to].map((at, index) => at - (ends[index - 1] ?? from))),
    longest: Math.max(0, ...successes.map(({ calledAt, endedAt }) => endedAt - Math.max(calledAt, from))),
  };
}

const seconds = (ms: number): string => (ms / 1000).toFixed(1);

export function tableOf(ledger: Ledger, phases: readonly Phase[]): string {
  const rows = phases.flatMap((phase) =>
    (['create', 'read', 'change'] as const).map((kind) => {
      const { tries, failed, ...times } = figuresOf(ledger, kind, phase);
      return [phase.name, kind, `${failed} of ${tries}`, ...Object.values(times).map(seconds)];
    }),
  );
  const columns = ['failed', 'the last after, s', 'above 1 s until, s', 'none succeeded for, s', 'longest call, s'];
  return markdownTable(['phase', 'calls', ...columns], rows);
}
