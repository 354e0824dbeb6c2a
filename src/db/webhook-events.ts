import {
  type AttemptResult,
  type WebhookRef,
  type WebhookState,
  endpointStateOf,
  originOf,
  webhookUrlOf,
} from '../domain/webhook';
import type { DbClient } from './pool';
import { type EncryptedCredentials, credentialsOf } from './secrets';
import { statement } from './statement';

/** An order's pending webhooks, in the order in which they are sent. */
export async function findPendingWebhooks(db: DbClient, orderId: string): Promise<WebhookRef[]> {
  const { rows } = await db.query<WebhookRef>(
    `select id, sequence from webhook_event where order_id = $1 and state = 'pending' order by sequence`,
    [orderId],
  );
  return rows;
}

/** Where the webhooks of an order go. */
interface AddressColumns {
  orderUrl: string | null;
  accountUrl: string | null;
  replaces: string[];
  /** That answered 410 last. */
  goneUrl: string | null;
}

/** SQL: the columns of `AddressColumns`, of an order `o` and its seller `s`. */
export const ADDRESS_COLUMNS = `o.webhook_url as "orderUrl", s.webhook_url as "accountUrl",
  s.webhook_replaces as "replaces", o.gone_url as "goneUrl"`;

export interface Address {
  /** Null if neither the order nor its account has one. */
  url: string | null;
  /** True from a 410 of this URL until the next delivery to the order's endpoint. */
  isDisabled: boolean;
}

/** Replaces the columns of `AddressColumns` by the address that results. */
export function withAddress<T extends AddressColumns>(row: T): Omit<T, keyof AddressColumns> & Address {
  const { orderUrl, accountUrl, replaces, goneUrl, ...rest } = row;
  const url = webhookUrlOf(orderUrl, { url: accountUrl, replaces });
  return { ...rest, url, isDisabled: url !== null && url === goneUrl };
}

/** The data of an event that an attempt needs. */
export interface WebhookEvent extends WebhookRef, EncryptedCredentials, Address {
  body: string;
  orderId: string;
  sellerId: string;
  state: WebhookState;
  /** Attempts made by the retry schedule. */
  steps: number;
  /**
   * Milliseconds until the next attempt, since the last one and since the event was created; the first two are null
   * before the first attempt. Durations by the clock of Postgres, because the workers' clocks may differ from it.
   */
  waitMs: number | null;
  waitedMs: number | null;
  ageMs: number;
  /** Of the last attempt of the schedule, such as `HTTP 500`; null before the first. */
  lastResult: string | null;
  /** True if a later event of the order waits for this one. */
  hasSuccessor: boolean;
  /** The time by the clock of Postgres. */
  readAt: Date;
  /** The request that made the change. */
  requestId: string | null;
  traceparent: string | null;
}

const ms = (interval: string): string => `round(extract(epoch from ${interval}) * 1000)::float8`;

/** @returns undefined if there is none, or its content was deleted */
export async function findWebhookEvent(db: DbClient, webhookId: string): Promise<WebhookEvent | undefined> {
  const { rows } = await db.query<Omit<WebhookEvent, keyof Address> & AddressColumns>({
    name: 'find_webhook_event',
    text: `select e.id, e.sequence, e.body, e.order_id as "orderId", e.seller_id as "sellerId",
       e.state, ${ADDRESS_COLUMNS}, e.steps, ${ms('e.next_attempt_at - now()')} as "waitMs", ${ms('now() - last.at')} as "waitedMs", last.result as "lastResult",
       exists (select from webhook_event n where n.order_id = e.order_id and n.state = 'pending' and n.sequence > e.sequence) as "hasSuccessor",
       ${ms('now() - e.created_at')} as "ageMs", now() as "readAt", e.request_id as "requestId", e.traceparent,
       ${credentialsOf('e.seller_id')}
     from webhook_event e join orders o on o.id = e.order_id join seller s on s.id = e.seller_id
     left join lateral (
       select at + duration_ms * interval '1 ms' as at, coalesce('HTTP ' || status, error) as result from webhook_attempt
       where event_id = e.id and step is not null order by attempt desc limit 1) last on true
     where e.id = $1 and e.content_deleted_at is null`,
    values: [webhookId],
  });
  return rows[0] && withAddress(rows[0]);
}

/** One attempt as it is stored, and its event's state after it. */
export interface AttemptRecord extends AttemptResult {
  /** True for an attempt of the retry schedule, false for a resend. */
  isScheduled: boolean;
  /** How the attempt ends the delivery; `pending` if it does not. */
  state: WebhookState;
  /** Milliseconds until the schedule's next attempt; null if this attempt schedules none. */
  delayMs: number | null;
}

const RECORD_ATTEMPT = `
  with locked as (
    select id, gone_url from orders where id = :orderId for update
  ), event as (
    update webhook_event e set attempts = e.attempts + 1, steps = e.steps + case when :isScheduled then 1 else 0 end,
      state = case when :state in ('delivered', 'disabled') or (:isScheduled and e.state = 'pending') then :state
        else e.state end,
      next_attempt_at = case when :state in ('delivered', 'disabled') then null
        when :isScheduled and e.state = 'pending' then now() + :delayMs::float8 * interval '1 ms'
        else e.next_attempt_at end
    from locked where e.id = :id and e.content_deleted_at is null returning e.id, e.attempts, e.steps, e.state, e.next_attempt_at
  ), attempt as (
    insert into webhook_attempt (event_id, attempt, step, at, duration_ms, connected_ms, headers_ms, status, error,
      error_detail, address, response_body, static_headers, next_attempt_at, seller_id, origin, endpoint_state)
    select id, attempts, case when :isScheduled then steps end, :readAt, :durationMs, :connectedMs, :headersMs, :status,
      :error, :errorDetail, :address, :responseBody, :hasStaticHeaders, case when :isScheduled then next_attempt_at end,
      :sellerId, :origin, :endpointState
    from event
  ), order_row as (
    update orders o set gone_url = case when :state = 'disabled' then :url end from locked where o.id = locked.id
      and :state in ('delivered', 'disabled') and locked.gone_url is distinct from case when :state = 'disabled' then :url end
  )
  select state from event`;

/**
 * Records an attempt and the event's new state. A delivery ends the event, whichever attempt made it. After a 410
 * (`disabled`), pending and further events of the order end unsent, until a resend is delivered or the order's webhooks
 * go to another URL. A failed resend does not change the schedule. The order's row is locked first, as for every entry of
 * its timeline: positions are taken in the order in which they are recorded.
 * @param event as it was read before the attempt, which began then
 * @returns the event's state afterwards
 */
export async function recordAttempt(
  db: DbClient,
  event: Pick<WebhookEvent, 'id' | 'orderId' | 'sellerId' | 'readAt'> & { url: string },
  attempt: AttemptRecord,
): Promise<WebhookState> {
  const { rows } = await db.query<{ state: WebhookState }>({
    name: 'record_attempt',
    ...statement(RECORD_ATTEMPT, {
      ...event,
      ...attempt,
      origin: originOf(event.url) || null,
      endpointState: endpointStateOf(attempt),
    }),
  });
  if (!rows[0]) throw new Error(`webhook event ${event.id} is missing`);
  return rows[0].state;
}

/**
 * Ends a pending event without another attempt.
 * @returns false if it had ended
 */
export async function endUnsent(db: DbClient, webhookId: string, state: 'exhausted' | 'disabled'): Promise<boolean> {
  const { rowCount } = await db.query(
    `update webhook_event set next_attempt_at = null, state = $2 where id = $1 and state = 'pending'`,
    [webhookId, state],
  );
  return rowCount === 1;
}

/** Stores a test webhook for the worker that sends it, and deletes old ones: no call waits for them any more. */
export async function insertWebhookTest(db: DbClient, webhookId: string, sellerId: string, url: string): Promise<void> {
  await db.query(
    `with deleted as (delete from webhook_test where created_at < now() - interval '10 minutes')
     insert into webhook_test (id, seller_id, url) values ($1, $2, $3)`,
    [webhookId, sellerId, url],
  );
}

/** The data of a test webhook that an attempt needs. */
export interface WebhookTestEvent extends EncryptedCredentials {
  sellerId: string;
  sellerName: string;
  url: string;
  /** In the webhook, so that a repeated attempt has the same content. */
  createdAt: Date;
  /** The time by the clock of Postgres. */
  readAt: Date;
}

export async function findWebhookTest(db: DbClient, webhookId: string): Promise<WebhookTestEvent | undefined> {
  const { rows } = await db.query<WebhookTestEvent>(
    `select t.seller_id as "sellerId", s.name as "sellerName", t.url, t.created_at as "createdAt", now() as "readAt",
       ${credentialsOf('t.seller_id')}
     from webhook_test t join seller s on s.id = t.seller_id where t.id = $1`,
    [webhookId],
  );
  return rows[0];
}
