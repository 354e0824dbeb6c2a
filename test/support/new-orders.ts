import { randomUUID } from 'node:crypto';
import type { Db } from '../../src/db/pool';
import { findOrder, type Creation, insertOrder, commitChange } from '../../src/db/orders';
import { insertSeller } from '../../src/db/sellers';
import { findPendingWebhooks } from '../../src/db/webhook-events';
import type { WebhookRef } from '../../src/domain/webhook';
import { toStatusWebhook } from '../../src/contracts/order-mapper';
import { type Order, type OrderFacts, withChange } from '../../src/domain/order';
import { FACTS } from './domain-orders';

export async function newSeller(db: Db): Promise<string> {
  const id = randomUUID();
  await insertSeller(db, id, 'Test Shop Ltd');
  return id;
}

/** Returns the facts of an order that is not inserted yet. */
export function newOrder(sellerId: string, facts: Partial<OrderFacts> = {}): OrderFacts {
  return { ...FACTS, id: randomUUID(), payLinkId: randomUUID(), reference: randomUUID(), sellerId, ...facts };
}

/** Inserts an order of a new seller. */
export async function insertNewOrder(db: Db, facts: Partial<OrderFacts> = {}, creation: Creation = {}): Promise<Order> {
  const order = await insertOrder(db, newOrder(facts.sellerId ?? (await newSeller(db)), facts), creation);
  if (!order) throw new Error('the Idempotency-Key is stored already');
  return order;
}

/** Saves the changes of an order that its row lacks, as its workflow does. Returns the pending webhooks. */
export async function saveChanges(db: Db, { id, changes }: Order): Promise<WebhookRef[]> {
  let row: Order | undefined = await findOrder(db, id);
  if (!row) throw new Error(`order ${id} has no row`);
  for (const change of changes.slice(row.changes.length)) {
    await commitChange(db, id, change, toStatusWebhook(row, change, 'https://checkout.example'));
    row = withChange(row, change);
  }
  return findPendingWebhooks(db, id);
}
