import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleAll } from 'cockatiel';
import type { OrderState } from '../domain/order';
import { trackFailures } from '../telemetry/metrics';
import type { OrderWorkflows } from '../temporal/order-workflows';

const FAILURES_BEFORE_BREAK = 5;
const BREAK_MS = 2000;

/** Reads the state that an order's workflow has saved. */
export interface WorkflowReader {
  /** Returns the state, or undefined if there is none or the workflow does not answer in time. Never rejects. */
  read(orderId: string): Promise<OrderState | undefined>;
}

/**
 * Queries workflows. A circuit breaker stops readers from waiting for workers that do not answer: after 5 consecutive
 * failures, only one read every 2 s queries.
 * @param budgetMs how long one read waits
 */
export function createWorkflowReader(workflows: Pick<OrderWorkflows, 'query'>, budgetMs: number): WorkflowReader {
  const breaker = circuitBreaker(handleAll, {
    halfOpenAfter: BREAK_MS,
    breaker: new ConsecutiveBreaker(FAILURES_BEFORE_BREAK),
  });
  breaker.onFailure(trackFailures('workflow_reader', () => breaker.state !== CircuitState.Closed));
  return {
    async read(orderId) {
      try {
        return await breaker.execute(() => workflows.query(orderId, budgetMs));
      } catch {
        return undefined;
      }
    },
  };
}
