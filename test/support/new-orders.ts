import { randomUUID } from 'node:crypto';
import { type NewOrder, insertOrder } from '../../src/db/insert-order';
import type { Db } from '../../src/db/pool';
import { findOrder } from '../../src/db/find-orders';
import { saveOrder } from '../../src/db/save-order';
import { insertSeller } from '../../src/db/sellers';
import type { PendingWebhook } from '../../src/db/webhook-events';
import { toStatusWebhooks } from '../../src/contracts/status-webhooks';
import { type Order, type OrderHistory, createHistory, toWorkflowOrderHistory } from '../../src/domain/order';
import { ORDER, applyEvents } from './order-histories';

export async function newSeller(db: Db): Promise<string> {
  const id = randomUUID();
  await insertSeller(db, { id, name: 'Test Shop Ltd', defaultRedirectUrl: null });
  return id;
}

/** Returns an order that is not inserted yet. */
export function newOrder(sellerId: string, order: Partial<Order> = {}, rest: Partial<NewOrder> = {}): NewOrder {
  const unique = { id: randomUUID(), payLinkId: randomUUID(), reference: randomUUID(), sellerId };
  return {
    ...createHistory({ ...ORDER, ...unique, ...order }, { actor: 'seller', channel: 'api' }),
    attachments: { source: null, metaData: null },
    sweepAfterMs: 60_000,
    idempotency: undefined,
    ...rest,
  };
}

/** Inserts an order of a new seller. */
export async function insertNewOrder(
  db: Db,
  order: Partial<Order> = {},
  rest: Partial<NewOrder> = {},
): Promise<OrderHistory> {
  const fresh = newOrder(await newSeller(db), order, rest);
  await insertOrder(db, fresh);
  return { order: fresh.order, changes: fresh.changes };
}

/** Saves a history as the order's workflow does. */
export async function saveHistory(db: Db, history: OrderHistory, checkAfterMs = 600_000): Promise<PendingWebhook[]> {
  const stored = await findOrder(db, history.order.id);
  const webhooks =
    stored?.order.webhookUrl == null ? [] : toStatusWebhooks(stored, history, 'https://checkout.example');
  const saved = await saveOrder(db, toWorkflowOrderHistory(history), webhooks, {
    unprovenMs: checkAfterMs,
    checkAfterMs,
  });
  return saved.pending;
}

/** Inserts a paid payment of a cancelled order, and returns its id. */
export async function insertPaymentToReverse(db: Db): Promise<string> {
  const history = await insertNewOrder(db);
  await saveHistory(db, applyEvents(history, 'cancel'));
  const { rows } = await db.query<{ id: string }>(
    "insert into payment (order_id, bank, status) values ($1, 'oak', 'paid') returning id",
    [history.order.id],
  );
  return rows[0]!.id;
}

/** Returns the milliseconds until the sweep checks the order, or null if the sweep has no work for it. */
export async function msUntilSweep(db: Db, orderId: string): Promise<number | null> {
  const { rows } = await db.query<{ ms: number }>(
    'select extract(epoch from sweep_at - now())::float * 1000 as ms from order_work where order_id = $1',
    [orderId],
  );
  return rows[0]?.ms ?? null;
}

export async function isInSweep(db: Db, orderId: string): Promise<boolean> {
  return (await msUntilSweep(db, orderId)) !== null;
}
