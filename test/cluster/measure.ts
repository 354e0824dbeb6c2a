import { recoveryMs, rateBetween } from '../chaos/recovery';
import type { CallKind, Ledger } from '../chaos/ledger';

/** Calls of customers and shops that have the same cause to fail. */
const KINDS: Record<Kind, (kind: CallKind) => boolean> = {
  creates: (kind) => kind === 'create',
  reads: (kind) => kind === 'read',
  changes: (kind) => !['create', 'read', 'page', 'resend'].includes(kind),
};
export type Kind = 'creates' | 'reads' | 'changes';

/** A part of a cell, from its fault or the end of a fault until the next part. */
export interface Phase {
  name: string;
  /** In ms of `performance.now()`. */
  from: number;
  to: number;
}

export interface PhaseFigures {
  phase: string;
  /** For each kind of call: the longest time in which none succeeded, and that which a call took, with its repeats; in ms. */
  calls: Record<Kind, { gap: number; longest: number }>;
  /** Until throughput was as before; undefined if it was not in this phase. */
  backAfter: number | undefined;
}

/** How long a phase lasts from the moment at which throughput was back: see `recoveryMs`. */
const BEFORE_MS = 4000;

/** What callers saw in a phase. Calls that began before it belong to it if it made them wait. */
export function figuresOf({ orders, successes }: Ledger, { name, from, to }: Phase, struckAt: number): PhaseFigures {
  const answers = orders.flatMap((order) => order.answers);
  const calls = Object.entries(KINDS).map(([kind, isOfKind]) => {
    const own = answers.filter((answer) => isOfKind(answer.kind) && answer.endedAt >= from && answer.startedAt < to);
    const ends = own
      .map(({ endedAt }) => endedAt)
      .filter((at) => at < to)
      .toSorted((a, b) => a - b);
    const gaps = [...ends, to].map((at, index) => at - (ends[index - 1] ?? from));
    const longest = Math.max(0, ...own.map(({ startedAt, endedAt }) => endedAt - Math.max(startedAt, from)));
    return [kind, { gap: Math.max(...gaps), longest }];
  });
  const baseline = rateBetween(successes, struckAt - BEFORE_MS, struckAt);
  return {
    phase: name,
    calls: Object.fromEntries(calls) as PhaseFigures['calls'],
    backAfter: recoveryMs(successes, { baseline, healedAt: from, now: to }),
  };
}
