/** The length of a window in which throughput is measured. */
const WINDOW_MS = 2000;
const STEP_MS = 100;
/** Of the rate before the fault. */
const RECOVERED_SHARE = 0.95;

/** Successful calls per second between two moments. */
export function rateBetween(successes: readonly number[], from: number, to: number): number {
  return (1000 * successes.filter((at) => at >= from && at < to).length) / (to - from);
}

/**
 * How long after `healedAt` throughput was back: the end of the first window with 95 % of the rate before the fault.
 * @param now the end of what is known
 * @returns ms; undefined if it was not back by then
 */
export function recoveryMs(
  successes: readonly number[],
  { baseline, healedAt, now }: { baseline: number; healedAt: number; now: number },
): number | undefined {
  for (let from = healedAt; from + WINDOW_MS <= now; from += STEP_MS) {
    if (rateBetween(successes, from, from + WINDOW_MS) >= baseline * RECOVERED_SHARE) return from - healedAt;
  }
  return undefined;
}
