import type { StatusWebhook } from '../contracts/status-webhooks';
import { type OrderChange, type WorkflowHistory, firstDifference } from '../domain/order';
import { type StoredOrderRow, CHANGES, lockOrder, toChanges } from './find-orders';
import { isAgreed } from './applications';
import { recordSave } from './order-work';
import { type Db, type DbClient, inTransaction } from './pool';
import { type PendingWebhook, findPendingWebhooks } from './webhook-events';

/** The row holds a change that the history to save does not build on. */
export class RowConflict extends Error {}

/** The customer has agreed to the offer, so the order cannot expire. */
export class CustomerAgreed extends Error {}

/**
 * Saves `history` in one transaction: row, timeline and webhook events. Saving the same history again changes nothing.
 * A row that is older (a restored backup) gets every change that it lacks.
 * @param webhooks for all status changes of the history; none if the order has no webhook URL
 * @param checkAfterMs until the sweep checks that the workflow of an order that is still open runs
 * @returns the order's pending webhooks
 * @throws RowConflict if the row is newer, holds a different change, or is missing
 * @throws CustomerAgreed if the last change is an expiry that is not saved yet, and the customer has agreed to the offer
 */
export async function saveOrder(
  db: Db,
  { order, changes }: WorkflowHistory,
  webhooks: readonly StatusWebhook[],
  checkAfterMs: number,
): Promise<PendingWebhook[]> {
  return inTransaction(db, async (client) => {
    const saved = await lockChanges(client, order.id);
    assertBuildsOn(saved, changes);
    const last = changes.at(-1);
    const expires = saved.length < changes.length && last?.event === 'expired' && last.from === 'APPROVED';
    if (expires && (await isAgreed(client, order.id))) {
      throw new CustomerAgreed(`the customer of order ${order.id} has agreed`);
    }
    for (const change of changes.slice(saved.length)) {
      await insertChange(client, order.id, change);
      const webhook = webhooks.find(({ version }) => version === change.version);
      if (webhook) await insertWebhook(client, order.id, webhook);
    }
    await client.query('update orders set version = $2, status = $3, cancelled_at = $4 where id = $1', [
      order.id,
      order.version,
      order.status,
      order.cancelledAt,
    ]);
    await recordSave(client, order.id, checkAfterMs);
    return findPendingWebhooks(client, order.id);
  });
}

/** Locks the order's row and returns the changes that are saved. */
async function lockChanges(client: DbClient, orderId: string): Promise<OrderChange[]> {
  // A separate statement: one that waits for the lock would read the timeline as it was before the wait.
  await lockOrder(client, orderId);
  const { rows } = await client.query<Pick<StoredOrderRow, 'changes'>>(
    `select ${CHANGES} as changes from orders o where id = $1`,
    [orderId],
  );
  if (!rows[0]) throw new RowConflict(`order ${orderId} has no row`);
  return toChanges(rows[0].changes);
}

function assertBuildsOn(saved: readonly OrderChange[], changes: readonly OrderChange[]): void {
  if (saved.length > changes.length) {
    throw new RowConflict(`the row is at version ${saved.length}, the workflow at ${changes.length}`);
  }
  const different = firstDifference(saved, changes);
  if (different !== undefined)
    throw new RowConflict(`version ${different} of the row and of the workflow are different changes`);
}

export async function insertChange(client: DbClient, orderId: string, change: OrderChange): Promise<void> {
  await client.query(
    `insert into order_timeline (order_id, version, event, from_status, to_status, actor, reason, at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [orderId, change.version, change.event, change.from, change.to, change.actor, change.reason, change.at],
  );
}

/**
 * The id is a UUID of version 8 (RFC 9562, 5.8) made from the order, the sequence and the body: a webhook that a restored
 * backup has lost gets the same id again, and one with other content another id. After a 410 the order's further webhooks
 * are disabled.
 */
async function insertWebhook(
  client: DbClient,
  orderId: string,
  { sequence, body, request }: StatusWebhook,
): Promise<void> {
  await client.query(
    `insert into webhook_event (id, order_id, seller_id, sequence, body, request_id, traceparent, state)
     select overlay(overlay(md5(o.id || ':' || $2::integer || ':' || $3::text) placing '8' from 13) placing 'a' from 17)::uuid,
       o.id, o.seller_id, $2, $3, $4, $5,
       case when exists (select from webhook_event e where e.order_id = o.id and e.state = 'disabled')
         then 'disabled' else 'pending' end
     from orders o where o.id = $1`,
    [orderId, sequence, body, request?.requestId, request?.traceparent],
  );
}

/** A refused request that came by signal. A signal has no response, so the refusal is recorded in the timeline. */
export interface Refusal extends Pick<OrderChange, 'from' | 'actor' | 'reason' | 'at'> {
  /** A UUID: recording the same refusal again changes nothing. */
  id: string;
  orderId: string;
  /** As requested: it may be an event that does not exist. */
  event: string;
}

/**
 * The position is taken under the lock on the row, as for every entry. Without a row there is no timeline.
 * @returns false if it was recorded before
 */
export async function insertRefusal(
  db: Db,
  { id, orderId, event, from, actor, reason, at }: Refusal,
): Promise<boolean> {
  return inTransaction(db, async (client) => {
    await lockOrder(client, orderId);
    const { rowCount } = await client.query(
      `insert into order_timeline (note_id, order_id, event, from_status, to_status, actor, reason, at)
       select $1, id, $3, $4, $4, $5, $6, $7 from orders where id = $2 on conflict (note_id) do nothing`,
      [id, orderId, event, from, actor, reason, at],
    );
    return rowCount === 1;
  });
}

/** The event of a timeline entry about a replaced run. No request can have it. */
export const RECOVERED = 'recovered';

/**
 * Records that a run of the order's workflow was replaced.
 * @param runId of the new run: repeating the call changes nothing
 * @returns false if it was recorded before
 */
export async function insertRecovery(db: Db, orderId: string, runId: string, reason: string): Promise<boolean> {
  return inTransaction(db, async (client) => {
    await lockOrder(client, orderId);
    const { rowCount } = await client.query(
      `insert into order_timeline (note_id, order_id, event, from_status, to_status, actor, reason, at)
       select $1, id, '${RECOVERED}', status, status, 'system', $3, now() from orders where id = $2
       on conflict (note_id) do nothing`,
      [runId, orderId, reason],
    );
    return rowCount === 1;
  });
}
