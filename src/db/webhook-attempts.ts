import type { WebhookState } from '../domain/webhook';
import { recordDelivery, removeIfSettled } from './order-work';
import { type Db, type DbClient, inTransaction } from './pool';
import { type EventState, lockOrders } from './webhook-events';

/** One attempt as it is stored, and its event's state after it. */
export interface AttemptRecord {
  eventId: string;
  /** The position in the retry schedule, from 1; null for a resend. */
  step: number | null;
  at: Date;
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
  nextAttemptAt: Date | null;
}

/**
 * Records an attempt and the event's new state, and ends the delivery lease, in one transaction. A step that is
 * recorded already keeps its record, but a successful delivery always counts. A 410 (`disabled`) disables all pending
 * events of the order.
 * @returns the event's new state
 */
export async function recordAttempt(db: Db, record: AttemptRecord): Promise<EventState> {
  return inTransaction(db, async (client) => {
    await lockOrders(client, [record.eventId]);
    const isNew = await insertAttempt(client, record);
    if (record.step === null) await finishResend(client, record.eventId, record.state);
    else if (isNew || record.state === 'delivered') await finishStep(client, record);
    if (record.state === 'disabled') await disablePending(client, record.eventId);
    const { rows } = await client.query<EventState & { orderId: string }>(
      'select state, attempts, next_attempt_at as "nextAttemptAt", order_id as "orderId" from webhook_event where id = $1',
      [record.eventId],
    );
    if (!rows[0]) throw new Error(`webhook event ${record.eventId} is missing`);
    const { orderId, ...state } = rows[0];
    await recordDelivery(client, orderId);
    return state;
  });
}

async function insertAttempt(client: DbClient, record: AttemptRecord): Promise<boolean> {
  const { rowCount } = await client.query(
    `insert into webhook_attempt (event_id, attempt, step, at, duration_ms, connected_ms, headers_ms, status, error,
       error_detail, address, response_body, next_attempt_at)
     select $1, coalesce(max(attempt), 0) + 1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12
     from webhook_attempt where event_id = $1
     on conflict (event_id, step) do nothing`,
    [
      record.eventId,
      record.step,
      record.at,
      record.durationMs,
      record.connectedMs,
      record.headersMs,
      record.status,
      record.error,
      record.errorDetail,
      record.address,
      record.responseBody,
      record.nextAttemptAt,
    ],
  );
  return rowCount === 1;
}

async function finishStep(client: DbClient, { eventId, step, state, nextAttemptAt }: AttemptRecord): Promise<void> {
  await client.query(
    `update webhook_event set state = $2, attempts = greatest(attempts, $3), next_attempt_at = $4
     where id = $1 and (state = 'pending' or $2 = 'delivered')`,
    [eventId, state, step, nextAttemptAt],
  );
}

/** A failed resend, except for a 410, changes neither the event's state nor its schedule. */
async function finishResend(client: DbClient, eventId: string, state: WebhookState): Promise<void> {
  await client.query(
    `update webhook_event set resend_requested_at = null,
       state = case when $2 = 'delivered' or ($2 = 'disabled' and state = 'pending') then $2 else state end,
       next_attempt_at = case when $2 = 'pending' then next_attempt_at end
     where id = $1`,
    [eventId, state],
  );
}

async function disablePending(client: DbClient, eventId: string): Promise<void> {
  await client.query(
    `update webhook_event set state = 'disabled', next_attempt_at = null
     where order_id = (select order_id from webhook_event where id = $1) and state = 'pending'`,
    [eventId],
  );
}

/** Gives up a pending event so that a later one can be sent. An event that was settled in the meantime stays as it is. */
export async function exhaustWebhook(db: Db, eventId: string): Promise<void> {
  await inTransaction(db, async (client) => {
    await lockOrders(client, [eventId]);
    const { rows } = await client.query<{ orderId: string }>(
      `update webhook_event set next_attempt_at = null, state = 'exhausted'
       where id = $1 and state = 'pending' returning order_id as "orderId"`,
      [eventId],
    );
    if (rows[0]) await removeIfSettled(client, rows[0].orderId);
  });
}
