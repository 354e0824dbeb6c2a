import { toOrderBody } from '../contracts/order-mapper';
import type { OrderBody } from '../contracts/order-schemas';
import type { OrderListQuery } from '../contracts/request-schemas';
import { stringify } from '../contracts/verbatim-json';
import { findOrder, findOrders } from '../db/find-orders';
import type { OrderDependencies } from './dependencies';
import { type Page, toPage, unknownCursor } from './list-page';

/** `meta_data` can make a page large, so a page ends once it has this size. */
const MAX_PAGE_BYTES = 256 * 1024;

/**
 * Lists a seller's orders from their rows, newest first.
 * @throws Problem `invalid_request` if the cursor is not one of the seller's orders
 */
export async function listOrders(
  { db, checkoutBaseUrl }: OrderDependencies,
  sellerId: string,
  { limit, cursor, status, reference, created_from, created_before }: OrderListQuery,
): Promise<Page<OrderBody>> {
  const filter = { sellerId, status, reference, createdFrom: created_from, createdBefore: created_before };
  const rows = await findOrders(db, { ...filter, after: cursor }, limit + 1, MAX_PAGE_BYTES);
  if (rows.length === 0 && cursor !== undefined && !(await findOrder(db, cursor, sellerId))) throw unknownCursor();
  const bodies = rows.map(({ order, attachments }) => toOrderBody(order, attachments, checkoutBaseUrl));
  return toPage(bodies, Math.min(limit, countWithin(MAX_PAGE_BYTES, bodies)), ({ id }) => id);
}

/**
 * Measures in bytes, as Postgres does: if it cuts the list, the last item is over the limit here too.
 * @returns the number of items until their size exceeds `maxBytes`; at least 1
 */
function countWithin(maxBytes: number, items: readonly object[]): number {
  let bytes = 0;
  const over = items.findIndex((item) => (bytes += Buffer.byteLength(stringify(item))) > maxBytes);
  return over === -1 ? items.length : Math.max(over, 1);
}
