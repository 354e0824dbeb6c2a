import type { Attachments, OrderChange, OrderHistory } from '../domain/order';
import { isStatusChange, sequenceOf } from '../domain/order';
import { isFinal } from '../domain/status';
import { findOrder } from './orders';
import type { Db, DbClient } from './pool';
import { inTransaction } from './pool';
import type { PendingWebhook } from './webhooks';
import { findPendingWebhooks } from './webhooks';

/** The row holds something that the history to be saved does not build on. */
export class RowConflict extends Error {}

export interface SaveOptions {
  /** The exact body of the webhook for a change of status. */
  webhookBody: (change: OrderChange, sequence: number, attachments: Attachments) => string;
  /** ms until the sweep makes sure that the workflow of a still open order runs. */
  checkAfterMs: number;
}

/**
 * Brings the row, the timeline and the webhook events to `history` in one transaction. Saving the same history twice
 * changes nothing; an older row (a restored backup) is brought forward by all the changes that it lacks.
 * @returns the order's unsettled webhooks
 * @throws RowConflict where the row is newer, tells another story or is gone
 */
export async function saveOrder(db: Db, history: OrderHistory, options: SaveOptions): Promise<PendingWebhook[]> {
  const { order, changes } = history;
  return inTransaction(db, async (client) => {
    // The lock first, in a statement of its own: one that waits for it reads the timeline as it was before the wait.
    await client.query('select from orders where id = $1 for update', [order.id]);
    const stored = await findOrder(client, order.id);
    if (!stored) throw new RowConflict(`order ${order.id} has no row`);
    assertBuildsOn(stored, history);
    for (const change of changes.slice(stored.changes.length)) {
      await insertChange(client, order.id, change);
      if (order.webhookUrl !== null && isStatusChange(change)) {
        const sequence = sequenceOf(changes, change);
        // The id follows from the order and the sequence, as a UUID of version 8 (RFC 9562, 5.8): one that a restored
        // backup lost comes back under the same id.
        await client.query(
          `insert into webhook_event (id, order_id, seller_id, sequence, body, state)
           values (overlay(overlay(md5($1::uuid || ':' || $2::integer) placing '8' from 13) placing 'a' from 17)::uuid,
             $1, $4, $2, $3,
             case when exists (select from webhook_event where order_id = $1 and state = 'disabled')
               then 'disabled' else 'pending' end)`,
          [order.id, sequence, options.webhookBody(change, sequence, stored.attachments), order.sellerId],
        );
      }
    }
    const pending = await findPendingWebhooks(client, order.id);
    const isSettled = isFinal(order.status) && pending.length === 0;
    await client.query(
      `update orders o set version = $2, status = $3, cancelled_at = $4, started = true,
         sweep_at = case
           when $5 and not exists (select from webhook_event where order_id = o.id and resend_at is not null) then null
           else now() + $6 * interval '1 ms' end
       where id = $1`,
      [order.id, order.version, order.status, order.cancelledAt, isSettled, options.checkAfterMs],
    );
    return pending;
  });
}

function assertBuildsOn(stored: OrderHistory, { order, changes }: OrderHistory): void {
  if (stored.order.version > order.version) {
    throw new RowConflict(`the row is at version ${stored.order.version}, the workflow at ${order.version}`);
  }
  const forked = stored.changes.find((line, index) => {
    const change = changes[index];
    return line.version !== change?.version || line.event !== change.event || line.at !== change.at;
  });
  if (forked) throw new RowConflict(`the row's version ${forked.version} is another change than the workflow's`);
}

async function insertChange(client: DbClient, orderId: string, change: OrderChange): Promise<void> {
  await client.query(
    `insert into order_timeline (order_id, version, event, from_status, to_status, actor, reason, at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [orderId, change.version, change.event, change.from, change.to, change.actor, change.reason, change.at],
  );
}

/** A request that came by signal and was refused: nobody was there to hear it, so the timeline tells. */
export interface Refusal extends Pick<OrderChange, 'from' | 'actor' | 'reason' | 'at'> {
  /** A UUID: writing the same refusal again changes nothing. */
  id: string;
  orderId: string;
  /** What was asked for; it may be no event at all. */
  event: string;
}

export async function insertRefusal(db: Db, { id, orderId, event, from, actor, reason, at }: Refusal): Promise<void> {
  await db.query(
    `insert into order_timeline (refusal_id, order_id, event, from_status, to_status, actor, reason, at)
     values ($1, $2, $3, $4, $4, $5, $6, $7) on conflict (refusal_id) do nothing`,
    [id, orderId, event, from, actor, reason, at],
  );
}
