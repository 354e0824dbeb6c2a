import { toOrderBody } from '../contracts/order-mapper';
import type { OrderBody } from '../contracts/order-schemas';
import type { OrderListQuery } from '../contracts/request-schemas';
import { findOrder, findOrders } from '../db/find-orders';
import type { OrderDependencies } from './dependencies';
import { type Page, listEnd, toPage, unknownCursor } from './list-page';

/**
 * Lists a seller's orders from their rows, newest first: by creation, or by last change with `updated_from`.
 * @throws Problem `invalid_request` if the cursor is not one of the seller's orders
 */
export async function listOrders(
  { db, checkoutBaseUrl }: OrderDependencies,
  sellerId: string,
  { limit, cursor, status, reference, created_from, created_before, updated_from }: OrderListQuery,
): Promise<Page<OrderBody>> {
  const filter = {
    sellerId,
    status,
    reference,
    createdFrom: created_from,
    createdBefore: created_from === undefined ? created_before : await listEnd(db, created_before),
    savedFrom: updated_from,
    savedBefore: updated_from === undefined ? undefined : await listEnd(db),
  };
  const rows = await findOrders(db, { ...filter, after: cursor }, limit + 1);
  if (rows.length === 0 && cursor !== undefined && !(await findOrder(db, cursor, sellerId))) throw unknownCursor();
  const bodies = rows.map((order) => toOrderBody(order, checkoutBaseUrl));
  return toPage(bodies, limit, ({ id }) => id);
}
