import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { CSV_HEAD, toCsvLine } from '../contracts/order-csv';
import { toOrderBody } from '../contracts/order-mapper';
import type { OrderBody } from '../contracts/order-schemas';
import type { OrderListQuery } from '../contracts/request-schemas';
import { readListEnd } from '../db/clock';
import { type OrderFilter, findOrders, readOrders } from '../db/list-orders';
import { findOrder } from '../db/orders';
import type { DbClient } from '../db/pool';
import type { PaymentTerm } from '../domain/order';
import type { OrderDependencies } from './dependencies';
import { type Page, toPage, unknownCursor } from './list-page';

/** As in the API, and a filter that only pages have. */
export type OrderSelection = OrderListQuery & { payment_term?: PaymentTerm | undefined };

/**
 * Lists a seller's orders from their rows, newest first: by last change with `updated_from` or `updated_before`, by
 * completion with `completed_from` or `completed_before`, otherwise by creation.
 * @throws Problem `invalid_request` if the cursor is not one of the seller's orders
 */
export async function listOrders(
  { db, checkoutBaseUrl }: Pick<OrderDependencies, 'db' | 'checkoutBaseUrl'>,
  sellerId: string,
  selection: OrderSelection,
): Promise<Page<OrderBody>> {
  const { limit, cursor } = selection;
  const rows = await findOrders(db, await toFilter(db, sellerId, selection), limit + 1);
  if (rows.length === 0) await checkCursor(db, sellerId, cursor);
  const bodies = rows.map((order) => toOrderBody(order, checkoutBaseUrl));
  return toPage(bodies, limit, ({ id }) => id);
}

/**
 * Returns all orders that `listOrders` returns as CSV, which is read while it is sent. The first piece is read before, so
 * that an error can be answered. If a later one cannot be read, the stream ends with an error, which is logged.
 * @throws Problem `invalid_request` if the cursor is not one of the seller's orders
 */
export async function exportOrders(
  { db }: Pick<OrderDependencies, 'db'>,
  sellerId: string,
  selection: OrderSelection,
  log: Logger,
): Promise<Readable> {
  await checkCursor(db, sellerId, selection.cursor);
  const pieces = toCsv(db, await toFilter(db, sellerId, selection));
  const first = await pieces.next();
  async function* all() {
    if (!first.done) yield first.value;
    yield* pieces;
  }
  return Readable.from(all(), { objectMode: false }).once('error', (err) =>
    log.warn({ err }, 'the CSV was not sent to its end'),
  );
}

/** Reads orders as CSV, with a header line, piece by piece: memory does not grow with their number. */
export async function* toCsv(db: DbClient, filter: OrderFilter): AsyncGenerator<string> {
  let head = CSV_HEAD;
  for await (const orders of readOrders(db, filter)) {
    yield head + orders.map(toCsvLine).join('');
    head = '';
  }
}

async function toFilter(
  db: DbClient,
  sellerId: string,
  { cursor, status, reference, amount, payment_term, ...times }: OrderSelection,
): Promise<OrderFilter> {
  const { created_from, created_before, updated_from, updated_before, completed_from, completed_before } = times;
  return {
    sellerId,
    status,
    reference,
    amountPence: amount,
    paymentTerm: payment_term,
    createdFrom: created_from,
    createdBefore: created_from === undefined ? created_before : await readListEnd(db, created_before),
    savedFrom: updated_from,
    savedBefore: updated_from === undefined ? updated_before : await readListEnd(db, updated_before),
    completedFrom: completed_from,
    completedBefore: completed_before,
    after: cursor,
  };
}

async function checkCursor(db: DbClient, sellerId: string, cursor: string | undefined): Promise<void> {
  if (cursor !== undefined && !(await findOrder(db, cursor, sellerId))) throw unknownCursor();
}
