import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleAll } from 'cockatiel';
import type { Order, OrderState } from '../domain/order';
import { trackFailures } from '../telemetry/metrics';
import type { OrderWorkflows } from '../temporal/order-workflows';

const FAILURES_BEFORE_BREAK = 5;
const BREAK_MS = 2000;

/** Reads the state that an order's workflow has saved. */
export interface LiveOrderReader {
  /**
   * Returns the state, or undefined if there is none or Temporal does not respond in time. Never rejects.
   * @param row an open order, as its row holds it
   */
  read(row: Order): Promise<OrderState | undefined>;
}

/**
 * Asks the Temporal server and sends no query, which a worker would have to answer. A query that a workflow task answers
 * while the workflow waits for a local activity can make the run's history impossible to replay: see "Faults found" in
 * docs/reliability.md.
 *
 * A circuit breaker stops readers from waiting for a server that does not respond: after 5 consecutive failures, only
 * one read every 2 s asks it.
 * @param budgetMs how long one read waits for Temporal
 * @param check called with an order that may have to be resumed, or whose row may have to be brought forward
 */
export function createLiveOrderReader(
  workflows: OrderWorkflows,
  budgetMs: number,
  check: (order: Order) => void,
): LiveOrderReader {
  const breaker = circuitBreaker(handleAll, {
    halfOpenAfter: BREAK_MS,
    breaker: new ConsecutiveBreaker(FAILURES_BEFORE_BREAK),
  });
  breaker.onFailure(trackFailures('temporal_reader', () => breaker.state !== CircuitState.Closed));

  async function readFromTemporal(row: Order): Promise<OrderState | undefined> {
    const until = Date.now() + budgetMs;
    const run = await workflows.describe(row.id, budgetMs);
    if (run?.running && run.orderStatus === row.status) return row;
    // The run has closed, the row was read before or during a save, or it is that of a restored backup. That the history
    // cannot be read in the rest of the time is no failure of the server.
    const inspected = run && (await workflows.inspect(row.id, until - Date.now()).catch(() => undefined));
    const state = inspected?.saved?.order;
    if (!run?.running || (state && state.version > row.version)) check(row);
    return state;
  }

  return {
    async read(row) {
      try {
        return await breaker.execute(() => readFromTemporal(row));
      } catch {
        return undefined;
      }
    },
  };
}
