import type { WebhookState, WebhookTest } from '../domain/webhook';
import type { DbClient } from './pool';
import { type EncryptedCredentials, credentialsOf } from './secrets';

/** The parts of an event by which an order's workflow refers to it. */
export interface WebhookRef {
  id: string;
  sequence: number;
}

/** An order's pending webhooks, in the order in which they are sent. */
export async function findPendingWebhooks(db: DbClient, orderId: string): Promise<WebhookRef[]> {
  const { rows } = await db.query<WebhookRef>(
    `select id, sequence from webhook_event where order_id = $1 and state = 'pending' order by sequence`,
    [orderId],
  );
  return rows;
}

/** @returns null if the order has no pending webhook with this sequence */
export async function findPendingWebhook(db: DbClient, orderId: string, sequence: number): Promise<WebhookRef | null> {
  const { rows } = await db.query<WebhookRef>(
    `select id, sequence from webhook_event where order_id = $1 and sequence = $2 and state = 'pending'`,
    [orderId, sequence],
  );
  return rows[0] ?? null;
}

/** The data of an event that an attempt needs. */
export interface WebhookEvent extends WebhookRef, EncryptedCredentials {
  url: string;
  body: string;
  orderId: string;
  sellerId: string;
  state: WebhookState;
  /** True from a 410 until the next delivery to the order's endpoint. */
  isDisabled: boolean;
  /** Attempts made by the retry schedule. */
  steps: number;
  /**
   * Milliseconds until the next attempt, since the last one and since the event was created; the first two are null
   * before the first attempt. Durations by the clock of Postgres, because the workers' clocks may differ from it.
   */
  waitMs: number | null;
  waitedMs: number | null;
  ageMs: number;
  /** The time by the clock of Postgres. */
  readAt: Date;
  /** The request that made the change. */
  requestId: string | null;
  traceparent: string | null;
}

const ms = (interval: string): string => `round(extract(epoch from ${interval}) * 1000)::float8`;

export async function findWebhookEvent(db: DbClient, eventId: string): Promise<WebhookEvent | undefined> {
  const { rows } = await db.query<WebhookEvent>({
    name: 'find_webhook_event',
    text: `select e.id, e.sequence, o.webhook_url as url, e.body, e.order_id as "orderId", e.seller_id as "sellerId",
       e.state, o.webhooks_disabled as "isDisabled", e.steps, ${ms('e.next_attempt_at - now()')} as "waitMs", ${ms('now() - last.at')} as "waitedMs",
       ${ms('now() - e.created_at')} as "ageMs", now() as "readAt", e.request_id as "requestId", e.traceparent,
       ${credentialsOf('e.seller_id')}
     from webhook_event e join orders o on o.id = e.order_id
     left join lateral (
       select at + duration_ms * interval '1 ms' as at from webhook_attempt
       where event_id = e.id and step is not null order by attempt desc limit 1) last on true
     where e.id = $1`,
    values: [eventId],
  });
  return rows[0];
}

/** Stores a test webhook for the worker that sends it, and deletes old ones: no call waits for them any more. */
export async function insertWebhookTest(db: DbClient, { webhookId, sellerId, url }: WebhookTest): Promise<void> {
  await db.query(
    `with deleted as (delete from webhook_test where created_at < now() - interval '10 minutes')
     insert into webhook_test (id, seller_id, url) values ($1, $2, $3)`,
    [webhookId, sellerId, url],
  );
}

export async function findWebhookTest(db: DbClient, webhookId: string): Promise<WebhookTest | undefined> {
  const { rows } = await db.query<WebhookTest>(
    'select id as "webhookId", seller_id as "sellerId", url from webhook_test where id = $1',
    [webhookId],
  );
  return rows[0];
}
