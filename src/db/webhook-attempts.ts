import type { WebhookState } from '../domain/webhook';
import { type DeliveryLease, endDeliveryLease, inMs, removeIfSettled } from './order-work';
import { type Db, type DbClient, inTransaction } from './pool';
import { type EventState, EVENT_STATE, lockOrders } from './webhook-events';

/** One attempt as it is stored, and its event's state after it. */
export interface AttemptRecord {
  eventId: string;
  /** The position in the retry schedule, from 1; null for a resend. */
  step: number | null;
  /** The lease under which the attempt was made. */
  lease: DeliveryLease;
  durationMs: number;
  connectedMs: number | null;
  headersMs: number | null;
  status: number | null;
  error: string | null;
  errorDetail: string | null;
  address: string | null;
  responseBody: string;
  /** The event's state after the attempt; `pending` if it is to be retried. */
  state: WebhookState;
  /** Milliseconds until the schedule's next attempt; null if this attempt schedules none. */
  delayMs: number | null;
}

/**
 * Records an attempt and the event's new state, and ends the delivery lease, in one transaction. If another attempt has
 * taken over the lease, or has made the same step, the schedule belongs to that one: this attempt is recorded without a
 * step. Whichever attempt it is, a delivery counts, and a 410 (`disabled`) disables all pending events of the order.
 * @returns the event's new state
 */
export async function recordAttempt(db: Db, record: AttemptRecord): Promise<EventState> {
  return inTransaction(db, async (client) => {
    await lockOrders(client, [record.eventId]);
    const isHolder = await endDeliveryLease(client, record.eventId, record.lease);
    const step = await insertAttempt(client, isHolder ? record : { ...record, step: null });
    const { orderId, after } = await updateEvent(client, { ...record, step });
    if (record.state === 'disabled') await disablePending(client, orderId);
    await removeIfSettled(client, orderId);
    return after;
  });
}

/** @returns the step under which the attempt is recorded */
async function insertAttempt(client: DbClient, record: AttemptRecord): Promise<number | null> {
  const { rows } = await client.query<{ step: number | null }>(
    `insert into webhook_attempt (event_id, attempt, step, at, duration_ms, connected_ms, headers_ms, status, error,
       error_detail, address, response_body, next_attempt_at)
     select $1, coalesce(max(attempt), 0) + 1, case when bool_or(step = $2) then null else $2::integer end,
       $3, $4, $5, $6, $7, $8, $9, $10, $11, case when $2::integer is not null then ${inMs('$12')} end
     from webhook_attempt where event_id = $1
     returning step`,
    [
      record.eventId,
      record.step,
      record.lease.at,
      record.durationMs,
      record.connectedMs,
      record.headersMs,
      record.status,
      record.error,
      record.errorDetail,
      record.address,
      record.responseBody,
      record.delayMs,
    ],
  );
  return rows[0]?.step ?? null;
}

/** Only the attempt of a step moves the schedule. A resend answers the request that its lease has read, and no later one. */
async function updateEvent(
  client: DbClient,
  { eventId, step, state, delayMs, lease }: AttemptRecord,
): Promise<{ orderId: string; after: EventState }> {
  const isFinal = state === 'delivered' || state === 'disabled';
  const { rows } = await client.query<EventState & { orderId: string }>(
    `update webhook_event e set
       state = case when $3 or ($4::integer is not null and state = 'pending') then $2 else state end,
       attempts = greatest(attempts, $4::integer),
       next_attempt_at = case when $3 then null when $4::integer is not null and state = 'pending' then ${inMs('$5')}
         else next_attempt_at end,
       resend_requested_at = nullif(resend_requested_at, $6::timestamptz)
     where id = $1 returning ${EVENT_STATE}, order_id as "orderId"`,
    [eventId, state, isFinal, step, delayMs, lease.resendRequestedAt],
  );
  if (!rows[0]) throw new Error(`webhook event ${eventId} is missing`);
  const { orderId, ...after } = rows[0];
  return { orderId, after };
}

async function disablePending(client: DbClient, orderId: string): Promise<void> {
  await client.query(
    `update webhook_event set state = 'disabled', next_attempt_at = null where order_id = $1 and state = 'pending'`,
    [orderId],
  );
}

/**
 * Gives up a pending event so that a later one can be sent. An event that was settled in the meantime stays as it is.
 * @returns false if it was settled
 */
export async function exhaustWebhook(db: Db, eventId: string): Promise<boolean> {
  return inTransaction(db, async (client) => {
    await lockOrders(client, [eventId]);
    const { rows } = await client.query<{ orderId: string }>(
      `update webhook_event set next_attempt_at = null, state = 'exhausted'
       where id = $1 and state = 'pending' returning order_id as "orderId"`,
      [eventId],
    );
    if (rows[0]) await removeIfSettled(client, rows[0].orderId);
    return rows[0] !== undefined;
  });
}
