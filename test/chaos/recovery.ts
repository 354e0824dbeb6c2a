import type { Ledger } from './ledger';

/** The length of a window in which throughput is measured. */
const WINDOW_MS = 2000;
const STEP_MS = 100;
/** Of the rate before the fault. */
const RECOVERED_SHARE = 0.95;
/** Callers that the fault has blocked make a burst. After it, throughput must stay at this share for this long. */
const SUSTAINED_SHARE = 0.75;
const SUSTAINED_MS = 8000;
/** How long after a moment it is known whether throughput was back by then. */
export const MEASURED_MS = WINDOW_MS + SUSTAINED_MS;

/** Successful calls per second between two moments. */
export function rateBetween(successes: readonly number[], from: number, to: number): number {
  return (1000 * successes.filter((at) => at >= from && at < to).length) / (to - from);
}

/**
 * How long after `healedAt` throughput was back: until the first window with 95 % of the rate before the fault that is no mere burst.
 * @param now the end of what is known
 * @returns ms; undefined if it was not back by then
 */
export function recoveryMs(
  successes: readonly number[],
  { baseline, healedAt, now }: { baseline: number; healedAt: number; now: number },
): number | undefined {
  for (let from = healedAt; from + MEASURED_MS <= now; from += STEP_MS) {
    const burstEnd = from + WINDOW_MS;
    if (
      rateBetween(successes, from, burstEnd) >= baseline * RECOVERED_SHARE &&
      rateBetween(successes, burstEnd, burstEnd + SUSTAINED_MS) >= baseline * SUSTAINED_SHARE
    ) {
      return from - healedAt;
    }
  }
  return undefined;
}

/** The share of the creates and GETs that began between two moments and succeeded at the first try. 1 if none began. */
export function firstTryShare(tries: Ledger['tries'], from: number, to: number): number {
  const during = tries.filter(
    ({ kind, calledAt, startedAt }) =>
      kind !== 'change' && startedAt === calledAt && startedAt >= from && startedAt < to,
  );
  return during.length === 0 ? 1 : during.filter(({ isSuccess }) => isSuccess).length / during.length;
}
