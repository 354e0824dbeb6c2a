import type { StatusWebhook } from '../contracts/status-webhooks';
import type { OrderChange } from '../domain/order';
import type { DbClient } from './pool';

/**
 * Saves a change with its webhook, if the order is at the version before it: row, timeline and webhook event in one
 * statement, all or nothing.
 * @returns undefined if the order is at another version: nothing changed. `isPending`: its webhook has to be sent
 */
export async function saveChange(
  db: DbClient,
  orderId: string,
  { version, event, from, to, actor, channel, reason, at }: OrderChange,
  webhook: StatusWebhook | undefined,
): Promise<{ isPending: boolean } | undefined> {
  const { rows } = await db.query<{ isPending: boolean }>({
    name: 'save_change',
    text: `with saved as (
       update orders set version = $2, status = $5, cancelled_at = case when $3 = 'cancel' then $9 else cancelled_at end
       where id = $1 and version = $2 - 1 returning id, seller_id, webhooks_disabled
     ), entry as (
       insert into order_timeline (order_id, version, event, from_status, to_status, actor, channel, reason, at)
       select id, $2, $3, $4, $5, $6, $7, $8, $9 from saved
     ), webhook as (
       insert into webhook_event (id, order_id, seller_id, sequence, body, request_id, traceparent, state)
       select $10, id, seller_id, $11, $12, $13, $14, case when webhooks_disabled then 'disabled' else 'pending' end
       from saved where $10::uuid is not null
       returning state
     )
     select coalesce((select state = 'pending' from webhook), false) as "isPending" from saved`,
    values: [
      orderId,
      version,
      event,
      from,
      to,
      actor,
      channel,
      reason,
      at,
      webhook?.id,
      webhook?.sequence,
      webhook?.body,
      webhook?.request?.requestId,
      webhook?.request?.traceparent,
    ],
  });
  return rows[0];
}

/** Records that the row lacks changes that its workflow has, up to `version`. */
export async function markRowBehind(db: DbClient, orderId: string, version: number): Promise<void> {
  await db.query('update orders set workflow_version = greatest(workflow_version, $2) where id = $1', [
    orderId,
    version,
  ]);
}

/** Allows changes of the order again, once nothing is missing or an operator keeps the row. */
export async function clearRowBehind(db: DbClient, orderId: string): Promise<void> {
  await db.query('update orders set workflow_version = null where id = $1', [orderId]);
}
