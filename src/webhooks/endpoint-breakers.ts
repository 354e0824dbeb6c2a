import type { Logger } from 'pino';
import { type BreakerOptions, endpointStateOf, originOf, probeDelayMs } from '../domain/webhook';
import type { Attempt } from './send';

/** A seller and the origin of its webhook URLs: a host that does not answer one path rarely answers another. */
export interface Endpoint {
  sellerId: string;
  url: string;
}

/** Between two deliveries that wait for an endpoint: however many wait, their checks cost the same. */
const TURN_MS = 250;
const LONGEST_WAIT_MS = 30 * 60_000;
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
      [...states.values()].filter((state) => isOpen(state) && now() < state.probeAt + LONGEST_WAIT_MS).length,

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
      state.lastTurnAt = Math.min(Math.max(state.lastTurnAt, state.probeAt) + TURN_MS, nowMs + LONGEST_WAIT_MS);
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
