import { QueryRejectedError, WorkflowNotFoundError } from '@temporalio/client';
import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleAll } from 'cockatiel';
import type { Order, OrderState } from '../domain/order';
import { trackFailures } from '../telemetry/metrics';
import type { OrderWorkflows } from '../temporal/order-workflows';

const FAILURES_BEFORE_BREAK = 5;
const BREAK_MS = 2000;

/** Reads orders through their workflows. */
export interface LiveOrderReader {
  /** Returns the state that the order's workflow holds, or undefined if it does not respond in time. Never rejects. */
  read(order: Order): Promise<OrderState | undefined>;
}

/**
 * A circuit breaker stops readers from waiting for workflows that do not respond: after 5 consecutive failures, only
 * one read every 2 s queries a workflow.
 * @param budgetMs how long one read waits for a workflow
 * @param onClosed called if no run is open. A caller reads open orders only, so the order may have to be resumed
 */
export function createLiveOrderReader(
  workflows: OrderWorkflows,
  budgetMs: number,
  onClosed: (order: Order) => void,
): LiveOrderReader {
  const breaker = circuitBreaker(handleAll, {
    halfOpenAfter: BREAK_MS,
    breaker: new ConsecutiveBreaker(FAILURES_BEFORE_BREAK),
  });
  breaker.onFailure(trackFailures('temporal_reader', () => breaker.state !== CircuitState.Closed));

  async function query(order: Order): Promise<OrderState | null> {
    const until = Date.now() + budgetMs;
    try {
      return await workflows.query(order.id, budgetMs);
    } catch (error) {
      // A missing or closed workflow is a result, not a failure of Temporal.
      if (!(error instanceof WorkflowNotFoundError) && !(error instanceof QueryRejectedError)) throw error;
      onClosed(order);
      if (error instanceof WorkflowNotFoundError) return null;
      // The row of a restored backup may be older than what the closed run has saved. That it cannot be read in the rest of
      // the time is no failure of Temporal's queries.
      const run = await workflows.inspect(order.id, until - Date.now()).catch(() => undefined);
      return run?.saved?.order ?? null;
    }
  }

  return {
    async read(order) {
      try {
        return (await breaker.execute(() => query(order))) ?? undefined;
      } catch {
        return undefined;
      }
    },
  };
}
