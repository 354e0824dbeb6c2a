import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleAll } from 'cockatiel';
import { Problem } from '../contracts/problem';
import { type StoredOrder, findOrder, findOrderByPayLink } from '../db/orders';
import type { Db } from '../db/pool';
import { type Order, isFinal } from '../domain/order';
import { isUuid } from '../domain/text';
import { trackBreaker } from '../telemetry/metrics';
import type { OrderWorkflows } from '../temporal/order-workflow-client';
import type { OrderDependencies } from './dependencies';

const FAILURES_BEFORE_BREAK = 5;
const BREAK_MS = 2000;

/**
 * Reads the row of an order.
 * @param sellerId if given, only this seller's order is found
 * @throws Problem `not_found`
 */
export async function requireOrder({ db }: { db: Db }, orderId: string, sellerId?: string): Promise<StoredOrder> {
  const stored = isUuid(orderId) ? await findOrder(db, orderId, sellerId) : undefined;
  if (!stored) throw notFound('order', sellerId);
  return stored;
}

/** Reads the row of the order that a pay link leads to. @throws Problem `not_found` */
export async function requireOrderByPayLink({ db }: { db: Db }, payLinkId: string): Promise<StoredOrder> {
  const stored = isUuid(payLinkId) ? await findOrderByPayLink(db, payLinkId) : undefined;
  if (!stored) throw notFound('pay link');
  return stored;
}

/**
 * Reads an order as it is now: the facts from the row, the state from the workflow or the row, whichever has the higher
 * version. The row is enough, because it has every acknowledged change: it answers for closed orders, for orders that
 * nobody has touched yet, and if the workflow does not answer in time.
 */
export async function askWorkflow(
  { readWorkflow }: OrderDependencies,
  row: Order,
): Promise<{ order: Order; readFrom: 'workflow' | 'snapshot' }> {
  const isUntouched = row.version === 1;
  const state = isFinal(row.status) || isUntouched ? undefined : await readWorkflow(row.id);
  return state !== undefined && state.version >= row.version
    ? { order: { ...row, ...state }, readFrom: 'workflow' }
    : { order: row, readFrom: 'snapshot' };
}

/**
 * Queries workflows. A circuit breaker stops readers from waiting for workers that do not answer: after 5 consecutive
 * failures, only one read every 2 s queries.
 * @param budgetMs how long one read waits
 */
export function createWorkflowReader(
  workflows: Pick<OrderWorkflows, 'query'>,
  budgetMs: number,
): OrderDependencies['readWorkflow'] {
  const breaker = circuitBreaker(handleAll, {
    halfOpenAfter: BREAK_MS,
    breaker: new ConsecutiveBreaker(FAILURES_BEFORE_BREAK),
  });
  trackBreaker('workflow_reader', () => Number(breaker.state !== CircuitState.Closed));
  return (orderId) => breaker.execute(() => workflows.query(orderId, budgetMs)).catch(() => undefined);
}

/**
 * The same response for a missing resource and for one of another seller.
 * @param sellerId the seller whose key was used
 */
export function notFound(what: string, sellerId?: string): Problem {
  const detail =
    sellerId === undefined
      ? `No ${what} has this ID.`
      : `The key belongs to the seller ${sellerId}, which has no ${what} with this ID.`;
  return new Problem('not_found', detail);
}
