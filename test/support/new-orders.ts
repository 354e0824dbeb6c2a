import { randomUUID } from 'node:crypto';
import { type NewOrder, insertOrder } from '../../src/db/insert-order';
import type { Db } from '../../src/db/pool';
import { findOrder } from '../../src/db/find-orders';
import { saveChange } from '../../src/db/save-change';
import { insertSeller } from '../../src/db/sellers';
import { type WebhookRef, findPendingWebhooks } from '../../src/db/webhook-events';
import { toStatusWebhook } from '../../src/contracts/status-webhooks';
import { type Order, type OrderHistory, createHistory, isStatusChange, sequenceOf } from '../../src/domain/order';
import { ORDER, applyEvents } from './order-histories';

export async function newSeller(db: Db): Promise<string> {
  const id = randomUUID();
  await insertSeller(db, { id, name: 'Test Shop Ltd', defaultRedirectUrl: null });
  return id;
}

/** Returns an order that is not inserted yet. */
export function newOrder(
  sellerId: string,
  order: Partial<Order> = {},
  rest: Partial<Omit<NewOrder, 'order'>> = {},
): NewOrder & OrderHistory {
  const unique = { id: randomUUID(), payLinkId: randomUUID(), reference: randomUUID(), sellerId };
  const by = { actor: 'seller', channel: 'api' } as const;
  return {
    ...createHistory({ ...ORDER, ...unique, ...order }, by),
    by,
    attachments: { source: null, metaData: null },
    idempotency: undefined,
    ...rest,
  };
}

/** Inserts an order of a new seller. */
export async function insertNewOrder(
  db: Db,
  order: Partial<Order> = {},
  rest: Partial<Omit<NewOrder, 'order'>> = {},
): Promise<OrderHistory> {
  const fresh = newOrder(await newSeller(db), order, rest);
  await insertOrder(db, fresh);
  return { order: fresh.order, changes: fresh.changes };
}

/** Saves the changes of a history that the row lacks, as the order's workflow does. Returns the pending webhooks. */
export async function saveHistory(db: Db, { order, changes }: OrderHistory): Promise<WebhookRef[]> {
  const stored = await findOrder(db, order.id);
  if (!stored) throw new Error(`order ${order.id} has no row`);
  for (const change of changes.slice(stored.changes.length)) {
    const earlier = { ...stored, changes: changes.slice(0, change.version - 1) };
    const webhook =
      isStatusChange(change) && stored.order.webhookUrl !== null
        ? toStatusWebhook(earlier, change, sequenceOf(changes, change), 'https://checkout.example')
        : undefined;
    await saveChange(db, order.id, change, webhook);
  }
  return findPendingWebhooks(db, order.id);
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
