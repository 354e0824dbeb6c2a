/** When a webhook is tried, and when it is given up. */
export interface RetrySchedule {
  /** Milliseconds before attempt 1, 2, …; its length is the number of attempts. */
  delaysMs: readonly number[];
  /** After this many attempts a head that holds up a later event gives way to it. */
  attemptsWithSuccessor: number;
  /** How much a delay is spread, as a share of it: 0.1 is ±10 %. */
  jitter: number;
  /** The longest wait that a receiver may ask for, in ms. */
  maxRetryAfterMs: number;
  /** The same while a later event waits: one that keeps asking for a day would hold it back for days. */
  maxRetryAfterWithSuccessorMs: number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Standard Webhooks 1.0, "Deliverability": ten attempts over 75 hours and 35 minutes. */
export const STANDARD_SCHEDULE: RetrySchedule = {
  delaysMs: [0, 5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR],
  attemptsWithSuccessor: 5,
  jitter: 0.1,
  maxRetryAfterMs: 24 * HOUR,
  maxRetryAfterWithSuccessorMs: HOUR,
};

/**
 * Milliseconds from a failed attempt to the next one; null when it was the last.
 * @param attempt the attempt that failed, from 1
 * @param retryAfterMs what the receiver asked for with Retry-After, 0 if nothing
 * @param random in [0, 1)
 */
export function retryDelay(
  schedule: RetrySchedule,
  {
    attempt,
    hasSuccessor,
    retryAfterMs,
    random,
  }: { attempt: number; hasSuccessor: boolean; retryAfterMs: number; random: number },
): number | null {
  if (hasSuccessor && yieldsToNext(schedule, attempt)) return null;
  const delay = schedule.delaysMs[attempt];
  if (delay === undefined) return null;
  const longestFloorMs = hasSuccessor ? schedule.maxRetryAfterWithSuccessorMs : schedule.maxRetryAfterMs;
  return Math.round(Math.max(delay * (1 + schedule.jitter * (2 * random - 1)), Math.min(retryAfterMs, longestFloorMs)));
}

/** Whether an event that failed this often gives way to a later one. */
export function yieldsToNext(schedule: RetrySchedule, attempts: number): boolean {
  return attempts >= schedule.attemptsWithSuccessor;
}
