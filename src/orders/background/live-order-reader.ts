import { WorkflowNotFoundError } from '@temporalio/client';
import { ConsecutiveBreaker, circuitBreaker, handleAll } from 'cockatiel';
import type { Order } from '../../domain/order';
import type { OrderWorkflows } from '../../temporal/order-workflows';

const MISSES_BEFORE_BREAK = 5;
const BREAK_MS = 2000;

/** Asks workflows what their orders are now, as long as they answer in time. */
export interface LiveOrderReader {
  /** The order as its workflow shows it; undefined where that can't be had within the budget. Never rejects. */
  read(orderId: string): Promise<Order | undefined>;
}

/**
 * @param budgetMs how long a reader waits for a workflow; while answers keep missing it, readers no longer wait at all,
 * but for one every 2 s that finds out whether the answers are back
 */
export function createLiveOrderReader(workflows: OrderWorkflows, budgetMs: number): LiveOrderReader {
  const breaker = circuitBreaker(handleAll, {
    halfOpenAfter: BREAK_MS,
    breaker: new ConsecutiveBreaker(MISSES_BEFORE_BREAK),
  });

  async function query(orderId: string): Promise<Order | null> {
    try {
      return await workflows.query(orderId, budgetMs);
    } catch (error) {
      // No workflow, or none yet, is an answer too.
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
