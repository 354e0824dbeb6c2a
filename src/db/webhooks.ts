import type { Db, DbClient } from './pool';
import { inTransaction } from './pool';

export type WebhookState = 'pending' | 'delivered' | 'exhausted' | 'disabled';

/** An unsettled webhook of an order, for the delivery lane to go on with. */
export interface PendingWebhook {
  id: string;
  sequence: number;
  /** Attempts made. */
  attempts: number;
  /** ISO 8601; null before the first attempt. */
  nextAttemptAt: string | null;
}

/** In the order in which they are sent. */
export async function findPendingWebhooks(db: DbClient, orderId: string): Promise<PendingWebhook[]> {
  const { rows } = await db.query<{ id: string; sequence: number; attempts: number; next_attempt_at: Date | null }>(
    `select id, sequence, attempts, next_attempt_at from webhook_event
     where order_id = $1 and state = 'pending' order by sequence`,
    [orderId],
  );
  return rows.map(({ id, sequence, attempts, next_attempt_at }) => ({
    id,
    sequence,
    attempts,
    nextAttemptAt: next_attempt_at?.toISOString() ?? null,
  }));
}

/** How far an event has come. */
export interface EventState {
  state: WebhookState;
  attempts: number;
  nextAttemptAt: Date | null;
}

/** What an attempt needs to know of its event. */
export interface WebhookEvent extends EventState {
  id: string;
  url: string;
  body: string;
  sellerId: string;
}

export async function findWebhookEvent(db: DbClient, eventId: string): Promise<WebhookEvent | undefined> {
  const { rows } = await db.query<WebhookEvent>(
    `select e.id, o.webhook_url as url, e.body, o.seller_id as "sellerId", e.state, e.attempts,
       e.next_attempt_at as "nextAttemptAt"
     from webhook_event e join orders o on o.id = e.order_id where e.id = $1`,
    [eventId],
  );
  return rows[0];
}

/**
 * Claims the order's lane for one attempt, so that a run of the activity that was given up but still goes on, or a
 * terminated workflow's, never overlaps another's.
 * @param forMs longer than an attempt can last; a claim that is not given back lapses
 * @returns false where another attempt may be under way, or this one was made meanwhile
 */
export async function claimAttempt(db: DbClient, eventId: string, attempt: number, forMs: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `update orders o set sending_until = now() + $3 * interval '1 ms' from webhook_event e
     where e.id = $1 and o.id = e.order_id and e.state = 'pending' and e.attempts < $2
       and (o.sending_until is null or o.sending_until <= now())`,
    [eventId, attempt, forMs],
  );
  return rowCount === 1;
}

/** One attempt as it is kept, and what became of its event. */
export interface AttemptRecord {
  eventId: string;
  attempt: number;
  at: Date;
  durationMs: number;
  status: number | null;
  error: string | null;
  errorDetail: string | null;
  address: string | null;
  responseBody: string;
  state: WebhookState;
  nextAttemptAt: Date | null;
}

/**
 * Writes the attempt and the event's new state together, and gives the lane back. An attempt that is written already
 * stays as it is; yet that the event was delivered is kept, whoever says so. A 410 (`disabled`) ends all that the order
 * still has to send.
 * @returns the event as it is now
 */
export async function recordAttempt(db: Db, record: AttemptRecord): Promise<EventState> {
  return inTransaction(db, async (client) => {
    const { rowCount: isNew } = await client.query(
      `insert into webhook_attempt (event_id, attempt, at, duration_ms, status, error, error_detail, address,
         response_body, next_attempt_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict do nothing`,
      [
        record.eventId,
        record.attempt,
        record.at,
        record.durationMs,
        record.status,
        record.error,
        record.errorDetail,
        record.address,
        record.responseBody,
        record.nextAttemptAt,
      ],
    );
    if (isNew || record.state === 'delivered') {
      await client.query(
        `update webhook_event set state = $2, attempts = greatest(attempts, $3), next_attempt_at = $4
         where id = $1 and state = 'pending'`,
        [record.eventId, record.state, record.attempt, record.nextAttemptAt],
      );
    }
    if (record.state === 'disabled') await disableRest(client, record.eventId);
    await client.query(
      'update orders set sending_until = null where id = (select order_id from webhook_event where id = $1)',
      [record.eventId],
    );
    await stopSweepingSettled(client, record.eventId);
    const { rows } = await client.query<EventState>(
      'select state, attempts, next_attempt_at as "nextAttemptAt" from webhook_event where id = $1',
      [record.eventId],
    );
    if (!rows[0]) throw new Error(`webhook event ${record.eventId} has gone`);
    return rows[0];
  });
}

async function disableRest(client: DbClient, eventId: string): Promise<void> {
  await client.query(
    `update webhook_event set state = 'disabled', next_attempt_at = null
     where order_id = (select order_id from webhook_event where id = $1) and state = 'pending'`,
    [eventId],
  );
}

/** Gives up an event for the sake of a later one; one that was settled meanwhile stays as it is. */
export async function exhaustWebhook(db: Db, eventId: string): Promise<void> {
  await inTransaction(db, async (client) => {
    await client.query(
      `update webhook_event set state = 'exhausted', next_attempt_at = null where id = $1 and state = 'pending'`,
      [eventId],
    );
    await stopSweepingSettled(client, eventId);
  });
}

/** The sweep has no more business with an order that is final and whose webhooks are all settled. */
async function stopSweepingSettled(client: DbClient, eventId: string): Promise<void> {
  await client.query(
    `update orders o set sweep_at = null
     where id = (select order_id from webhook_event where id = $1) and status in ('SUCCESSFUL', 'UNSUCCESSFUL')
       and not exists (select from webhook_event e where e.order_id = o.id and e.state = 'pending')`,
    [eventId],
  );
}
