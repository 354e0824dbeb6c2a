import { WorkflowNotFoundError } from '@temporalio/client';
import { ConsecutiveBreaker, circuitBreaker, handleAll } from 'cockatiel';
import type { OrderState } from '../../domain/order';
import type { OrderWorkflows } from '../../temporal/order-workflows';

const FAILURES_BEFORE_BREAK = 5;
const BREAK_MS = 2000;

/** Reads orders through their workflows. */
export interface LiveOrderReader {
  /** Returns the state that the order's workflow holds, or undefined if it does not respond in time. Never rejects. */
  read(orderId: string): Promise<OrderState | undefined>;
}

/**
 * A circuit breaker stops readers from waiting for workflows that do not respond: after 5 consecutive failures, only one
 * read every 2 s queries a workflow.
 * @param budgetMs how long one read waits for a workflow
 */
export function createLiveOrderReader(workflows: OrderWorkflows, budgetMs: number): LiveOrderReader {
  const breaker = circuitBreaker(handleAll, {
    halfOpenAfter: BREAK_MS,
    breaker: new ConsecutiveBreaker(FAILURES_BEFORE_BREAK),
  });

  async function query(orderId: string): Promise<OrderState | null> {
    try {
      return await workflows.query(orderId, budgetMs);
    } catch (error) {
      // A missing workflow is a result, not a failure of Temporal.
      if (error instanceof WorkflowNotFoundError) return null;
      throw error;
    }
  }

  return {
    async read(orderId) {
      try {
        return (await breaker.execute(() => query(orderId))) ?? undefined;
      } catch {
        return undefined;
      }
    },
  };
}
