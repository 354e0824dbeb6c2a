/** When a webhook is sent, and when it is given up. */
export interface RetrySchedule {
  /** Milliseconds before each attempt; its length is the number of attempts. The first is made at once. */
  delaysMs: readonly number[];
  /** After this many failed attempts, an event yields to a later event that waits for it. */
  attemptsWithSuccessor: number;
  /** The longest wait while a later event waits, which a receiver could otherwise delay for days, in ms. */
  maxWaitWithSuccessorMs: number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The random spread of a delay as a fraction of it: ±10 %. */
export const RETRY_JITTER = 0.1;

/** Standard Webhooks 1.0, "Deliverability": ten attempts over 75 hours and 35 minutes. */
export const STANDARD_SCHEDULE: RetrySchedule = {
  delaysMs: [0, 5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR],
  attemptsWithSuccessor: 5,
  maxWaitWithSuccessorMs: HOUR,
};

/**
 * Returns the milliseconds from a failed attempt to the next one, or null if it was the last.
 * @param attempt the attempt that failed, from 1
 * @param retryAfterMs the receiver's Retry-After, at most 24 hours; 0 if it sent none
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
  const waitMs = Math.round(Math.max(delay * (1 + RETRY_JITTER * (2 * random - 1)), retryAfterMs));
  return hasSuccessor ? Math.min(waitMs, schedule.maxWaitWithSuccessorMs) : waitMs;
}

/** True if an event has failed so often that it yields to a later one. */
export function yieldsToNext(schedule: RetrySchedule, attempts: number): boolean {
  return attempts >= schedule.attemptsWithSuccessor;
}
