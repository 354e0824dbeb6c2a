import type { StoredOrder } from '../db/orders';
import { findOrder, findOrderByPayLink } from '../db/orders';
import type { Order } from '../domain/order';
import { isFinal } from '../domain/status';
import { isUuid } from '../domain/uuid';
import type { OrderDependencies } from './dependencies';
import { notFound } from './not-found';

/**
 * The row of an order.
 * @param sellerId finds a seller's own orders only
 * @throws Problem `not_found`
 */
export async function readStored(deps: OrderDependencies, orderId: string, sellerId?: string): Promise<StoredOrder> {
  const stored = isUuid(orderId) ? await findOrder(deps.db, orderId, sellerId) : undefined;
  if (!stored) throw notFound();
  return stored;
}

export type RetrievedOrder = Pick<StoredOrder, 'order' | 'attachments'> & { source: 'workflow' | 'snapshot' };

/**
 * The order as it is now: by its workflow where that answers in time and is not behind the row, else by the row, which
 * is never behind what any caller was told.
 */
export async function retrieveOrder(
  deps: OrderDependencies,
  orderId: string,
  sellerId: string,
): Promise<RetrievedOrder> {
  return askWorkflow(deps, await readStored(deps, orderId, sellerId));
}

/**
 * The same for the checkout, which met the customer with a pay link.
 * @throws Problem `not_found`
 */
export async function retrieveByPayLink(deps: OrderDependencies, payLinkId: string): Promise<RetrievedOrder> {
  return askWorkflow(deps, await readByPayLink(deps, payLinkId));
}

/**
 * The row of the order that a pay link stands for.
 * @throws Problem `not_found`
 */
export async function readByPayLink(deps: OrderDependencies, payLinkId: string): Promise<StoredOrder> {
  const stored = isUuid(payLinkId) ? await findOrderByPayLink(deps.db, payLinkId) : undefined;
  if (!stored) throw notFound();
  return stored;
}

async function askWorkflow(
  deps: OrderDependencies,
  { order, attachments, started }: StoredOrder,
): Promise<RetrievedOrder> {
  const shown = isFinal(order.status) || !started ? undefined : await deps.liveOrders.read(order.id);
  return isAtLeast(shown, order)
    ? { order: shown, attachments, source: 'workflow' }
    : { order, attachments, source: 'snapshot' };
}

function isAtLeast(shown: Order | undefined, row: Order): shown is Order {
  return shown !== undefined && shown.version >= row.version;
}
