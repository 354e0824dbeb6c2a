import type { WebhookState } from '../domain/webhook';
import type { DeliveryLease } from './delivery-lease';
import { removeIfSettled } from './order-work';
import { type Db, type DbClient, inTransaction } from './pool';
import { type DeliveryProgress, lockOrders } from './webhook-events';

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
 * Records an attempt and the event's new state, and ends the delivery lease, in one statement. The function's comment
 * in the migrations states what applies if another attempt has taken over the lease.
 * @returns the event's new state
 */
export async function recordAttempt(db: DbClient, record: AttemptRecord): Promise<DeliveryProgress> {
  const { rows } = await db.query<DeliveryProgress>({
    name: 'record_attempt',
    text: `select state_after as state, attempts_after as attempts, wait_ms as "waitMs", waited_ms as "waitedMs",
        disabled_after as "webhooksDisabled"
      from record_attempt($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    values: [
      record.eventId,
      record.step,
      record.lease.token,
      record.lease.at,
      record.lease.resendRequestedAt,
      record.durationMs,
      record.connectedMs,
      record.headersMs,
      record.status,
      record.error,
      record.errorDetail,
      record.address,
      record.responseBody,
      record.state,
      record.delayMs,
    ],
  });
  if (!rows[0]) throw new Error(`webhook event ${record.eventId} is missing`);
  return rows[0];
}

/**
 * Gives up a pending event so that a later one can be sent. An event that ended in the meantime stays as it is.
 * @returns false if it had ended
 */
export async function markExhausted(db: Db, eventId: string): Promise<boolean> {
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
