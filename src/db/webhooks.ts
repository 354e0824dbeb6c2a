import type { WebhookState } from '../domain/webhook';
import type { Db, DbClient } from './pool';
import { inTransaction } from './pool';

/** An unsettled webhook of an order, for the delivery lane to go on with. */
export interface PendingWebhook {
  id: string;
  sequence: number;
  /** Attempts made by the schedule. */
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
  /** Attempts made by the schedule. */
  attempts: number;
  nextAttemptAt: Date | null;
}

/** What an attempt needs to know of its event. */
export interface WebhookEvent extends EventState {
  id: string;
  url: string;
  body: string;
  sellerId: string;
  /** Whether it was asked to send it once more. */
  resendAsked: boolean;
}

export async function findWebhookEvent(db: DbClient, eventId: string): Promise<WebhookEvent | undefined> {
  const { rows } = await db.query<WebhookEvent>(
    `select e.id, o.webhook_url as url, e.body, e.seller_id as "sellerId", e.state, e.attempts,
       e.next_attempt_at as "nextAttemptAt", e.resend_at is not null as "resendAsked"
     from webhook_event e join orders o on o.id = e.order_id where e.id = $1`,
    [eventId],
  );
  return rows[0];
}

/**
 * Claims the order's lane for one attempt, so that a run of the activity that was given up but still goes on, or a
 * terminated workflow's, never overlaps another's.
 * @param step of the schedule; null for a resend
 * @param forMs longer than an attempt can last; a claim that is not given back lapses
 * @returns false where another attempt may be under way, or this one was made meanwhile
 */
export async function claimAttempt(
  db: DbClient,
  eventId: string,
  step: number | null,
  forMs: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update orders o set sending_until = now() + $3 * interval '1 ms' from webhook_event e
     where e.id = $1 and o.id = e.order_id
       and case when $2::integer is null then e.resend_at is not null else e.state = 'pending' and e.attempts < $2 end
       and (o.sending_until is null or o.sending_until <= now())`,
    [eventId, step, forMs],
  );
  return rowCount === 1;
}

/** One attempt as it is kept, and what it makes of its event. */
export interface AttemptRecord {
  eventId: string;
  /** Of the schedule; null for a resend. */
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
  /** `pending`: the attempt settled nothing. */
  state: WebhookState;
  nextAttemptAt: Date | null;
}

/**
 * Writes the attempt and the event's new state together, and gives the lane back. A step that is written already stays
 * as it is; yet that the event was delivered is kept, whoever says so. A 410 (`disabled`) ends all that the order still
 * has to send.
 * @returns the event as it is now
 */
export async function recordAttempt(db: Db, record: AttemptRecord): Promise<EventState> {
  return inTransaction(db, async (client) => {
    await lockOrders(client, [record.eventId]);
    const isNew = await insertAttempt(client, record);
    if (record.step === null) await settleResend(client, record.eventId, record.state);
    else if (isNew || record.state === 'delivered') await settleStep(client, record);
    if (record.state === 'disabled') await disableRest(client, record.eventId);
    await client.query(
      `update orders o set sending_until = null, sweep_at = case when ${isSettled('o')} then null else sweep_at end
       where id = (select order_id from webhook_event where id = $1)`,
      [record.eventId],
    );
    const { rows } = await client.query<EventState>(
      'select state, attempts, next_attempt_at as "nextAttemptAt" from webhook_event where id = $1',
      [record.eventId],
    );
    if (!rows[0]) throw new Error(`webhook event ${record.eventId} has gone`);
    return rows[0];
  });
}

/** Attempts and changes of one order are written one after the other, so that none slips in before one already read. */
async function lockOrders(client: DbClient, eventIds: readonly string[]): Promise<void> {
  await client.query(
    `select from orders where id in (select order_id from webhook_event where id = any($1)) order by id for update`,
    [eventIds],
  );
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

async function settleStep(client: DbClient, { eventId, step, state, nextAttemptAt }: AttemptRecord): Promise<void> {
  await client.query(
    `update webhook_event set state = $2, attempts = greatest(attempts, $3), next_attempt_at = $4
     where id = $1 and (state = 'pending' or $2 = 'delivered')`,
    [eventId, state, step, nextAttemptAt],
  );
}

/** A resend that fails leaves the event where it was, in the middle of its schedule or at its end. */
async function settleResend(client: DbClient, eventId: string, state: WebhookState): Promise<void> {
  await client.query(
    `update webhook_event set resend_at = null,
       state = case when $2 = 'delivered' or ($2 = 'disabled' and state = 'pending') then $2 else state end,
       next_attempt_at = case when $2 = 'pending' then next_attempt_at end
     where id = $1`,
    [eventId, state],
  );
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
    await lockOrders(client, [eventId]);
    await client.query(
      `update webhook_event set state = 'exhausted', next_attempt_at = null where id = $1 and state = 'pending'`,
      [eventId],
    );
    await client.query(
      `update orders o set sweep_at = null
       where id = (select order_id from webhook_event where id = $1) and ${isSettled('o')}`,
      [eventId],
    );
  });
}

/** As SQL: the sweep has no more business with an order that is final and has nothing to send. */
function isSettled(order: string): string {
  return `(${order}.status in ('SUCCESSFUL', 'UNSUCCESSFUL') and not exists (
    select from webhook_event w where w.order_id = ${order}.id and (w.state = 'pending' or w.resend_at is not null)))`;
}

/** An event that is to be sent once more. */
export type Resend = Pick<PendingWebhook, 'id' | 'sequence'>;

export async function findResends(db: DbClient, orderId: string): Promise<Resend[]> {
  const { rows } = await db.query<Resend>(
    'select id, sequence from webhook_event where order_id = $1 and resend_at is not null order by resend_at, sequence',
    [orderId],
  );
  return rows;
}

/**
 * Asks for events to be sent once more; one that is asked for already is sent once. The sweep sees to it that their
 * workflows hear of it.
 * @param sweepAfterMs leaves the caller the time to tell them itself
 */
export async function requestResends(db: Db, eventIds: readonly string[], sweepAfterMs: number): Promise<void> {
  await inTransaction(db, async (client) => {
    await lockOrders(client, eventIds);
    await client.query('update webhook_event set resend_at = coalesce(resend_at, now()) where id = any($1)', [
      eventIds,
    ]);
    await client.query(
      `update orders set sweep_at = least(sweep_at, now() + $2 * interval '1 ms')
       where id in (select order_id from webhook_event where id = any($1))`,
      [eventIds, sweepAfterMs],
    );
  });
}
