import type { Logger } from 'pino';
import { type BreakerOptions, endpointStateOf, originOf, probeDelayMs } from '../domain/webhook';
import type { Attempt } from './send';

// When this worker may make an attempt: while its seller has a free slot, and its endpoint answers.

/** How long a slot is expected to be held before the first one of its key is released. */
const FIRST_HOLD_MS = 500;
/** The share of the newest duration in the mean. */
const WEIGHT = 0.2;
/** No wait for a webhook is longer. Turns that would be further away are spread over the second half of this time. */
const LONGEST_TURN_WAIT_MS = 3_600_000;

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
    if (waitMs <= LONGEST_TURN_WAIT_MS) return waitMs;
    slots.lastTurnAt = nowMs + LONGEST_TURN_WAIT_MS;
    return Math.ceil(LONGEST_TURN_WAIT_MS * (1 - Math.random() / 2));
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

/** A seller and the origin of its webhook URLs: a host that does not answer one path rarely answers another. */
export interface Endpoint {
  sellerId: string;
  url: string;
}

/** Between two deliveries that wait for an endpoint: however many wait, their checks cost the same. */
const TURN_MS = 250;
const LONGEST_PROBE_WAIT_MS = 30 * 60_000;
/** Longer than an attempt takes: a probe without a result, or whose result shows nothing about the endpoint, is repeated. */
const PROBE_MS = 30_000;
/** Beyond this, the endpoint whose last failure is the oldest is forgotten: most of them will never answer. */
const MOST_ENDPOINTS = 10_000;

type Result = Pick<Attempt, 'status' | 'error'>;

interface State {
  failures: number;
  /** When the first of the failures ended. */
  since: number;
  probeAt: number;
  /** The turn of the last delivery that waits. */
  lastTurnAt: number;
}

/**
 * Circuit breakers of endpoints, in this worker's memory. After some attempts in a row without an answer, deliveries
 * wait instead of being sent, and one at a time probes the endpoint. The first answer closes its breaker.
 */
export function createEndpointBreakers(options: BreakerOptions, log: Logger, now = () => performance.now()) {
  const states = new Map<string, State>();
  const keyOf = ({ sellerId, url }: Endpoint): string => `${sellerId} ${originOf(url)}`;
  const isOpen = ({ failures }: State): boolean => failures >= options.failures;

  return {
    /** Counts the endpoints that deliveries wait for: whatever waits probes its endpoint within half an hour. */
    countOpen: (): number =>
      [...states.values()].filter((state) => isOpen(state) && now() < state.probeAt + LONGEST_PROBE_WAIT_MS).length,

    /** @returns 0 if a delivery may be sent now, otherwise milliseconds until its turn */
    passOrWaitMs(endpoint: Endpoint): number {
      const state = states.get(keyOf(endpoint));
      if (!state || !isOpen(state)) return 0;
      const nowMs = now();
      if (nowMs >= state.probeAt) {
        // This delivery is the probe.
        state.probeAt = nowMs + PROBE_MS;
        return 0;
      }
      state.lastTurnAt = Math.min(Math.max(state.lastTurnAt, state.probeAt) + TURN_MS, nowMs + LONGEST_PROBE_WAIT_MS);
      return state.lastTurnAt - nowMs;
    },

    /** Counts an attempt. Logs one line when a breaker opens or closes. */
    record(endpoint: Endpoint, result: Result): void {
      const key = keyOf(endpoint);
      const fields = { seller_id: endpoint.sellerId, endpoint: originOf(endpoint.url) };
      const state = states.get(key);
      const shown = endpointStateOf(result);
      if (shown === null) return;
      if (shown !== 'not_answering') {
        states.delete(key);
        if (state && isOpen(state)) log.info({ ...fields, failures: state.failures }, 'webhook endpoint answers again');
        return;
      }
      const nowMs = now();
      const { failures = 0, since = nowMs, lastTurnAt = nowMs } = state ?? {};
      states.delete(key);
      states.set(key, {
        failures: failures + 1,
        since,
        probeAt: nowMs + probeDelayMs(options, nowMs - since),
        lastTurnAt,
      });
      const [oldest] = states.keys();
      if (states.size > MOST_ENDPOINTS && oldest !== undefined) states.delete(oldest);
      if (failures + 1 === options.failures)
        log.warn({ ...fields, error: result.error }, 'webhook endpoint does not answer: its deliveries wait');
    },
  };
}
