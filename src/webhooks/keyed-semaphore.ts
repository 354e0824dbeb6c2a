/** How long a slot is expected to be held before the first one of its key is released. */
const FIRST_HOLD_MS = 500;
/** The share of the newest duration in the mean. */
const WEIGHT = 0.2;
/** No wait for a webhook is longer. Turns that would be further away are spread over the second half of this time. */
const MAX_WAIT_MS = 3_600_000;

interface Slots {
  held: number;
  /** Mean duration. */
  meanMs: number;
  /** When the last slot was acquired or released. If more time than the mean duration has passed since, that time is used. */
  changedAt: number;
  /** The turn of the last caller in the queue. */
  lastTurnAt: number;
}

/**
 * Limits how many slots each key holds at the same time, so that one seller cannot use all of them. Each caller that is
 * refused gets another turn, at the rate at which slots become free: however many wait, they ask no more often than
 * slots are released.
 */
export function createKeyedSemaphore(limit: number, now = () => performance.now()) {
  const keys = new Map<string, Slots>();

  function nextTurn(slots: Slots): number {
    const nowMs = now();
    const holdMs = Math.max(slots.meanMs, nowMs - slots.changedAt);
    slots.lastTurnAt = Math.max(slots.lastTurnAt, nowMs) + holdMs / limit;
    // 0 would mean that a slot was acquired.
    const waitMs = Math.max(Math.ceil(slots.lastTurnAt - nowMs), 1);
    if (waitMs <= MAX_WAIT_MS) return waitMs;
    slots.lastTurnAt = nowMs + MAX_WAIT_MS;
    return Math.ceil(MAX_WAIT_MS * (1 - Math.random() / 2));
  }

  return {
    /** @returns 0, or if the key has no free slot: milliseconds until the caller's turn to try again */
    acquireOrWaitMs(key: string): number {
      const slots = keys.get(key) ?? { held: 0, meanMs: FIRST_HOLD_MS, changedAt: now(), lastTurnAt: now() };
      if (slots.held >= limit) return nextTurn(slots);
      keys.set(key, { ...slots, held: slots.held + 1, changedAt: now() });
      return 0;
    },
    /** @param heldMs how long the caller had the slot; undefined if it did not use it */
    release(key: string, heldMs: number | undefined): void {
      const slots = keys.get(key);
      if (!slots) return;
      const meanMs = slots.meanMs + WEIGHT * ((heldMs ?? slots.meanMs) - slots.meanMs);
      if (slots.held > 1) keys.set(key, { ...slots, held: slots.held - 1, meanMs, changedAt: now() });
      else keys.delete(key);
    },
  };
}
