import type { WebhookSelection, WebhookState } from '../domain/webhook';
import type { DbClient } from './pool';
import { ADDRESS_COLUMNS, type Address, withAddress } from './webhook-events';
import type { AttemptFailure } from './webhook-endpoints';

/** A webhook as lists show it. */
export interface ListedWebhook extends Address {
  id: string;
  sellerId: string;
  orderId: string;
  reference: string;
  sequence: number;
  state: WebhookState;
  /** All attempts, resends included. */
  attempts: number;
  createdAt: Date;
  nextAttemptAt: Date | null;
  /** When body and attempts were deleted. */
  contentDeletedAt: Date | null;
  /** The last attempt; null if there is none. Its error is null if it succeeded. */
  lastAttempt: AttemptFailure | null;
  /** The sequence of the order's webhook that is sent before this one; null if there is none. */
  isAfter: number | null;
}

type ListedRow = Omit<ListedWebhook, keyof Address> & Parameters<typeof withAddress>[0];

const COLUMNS = `e.id, e.order_id as "orderId", e.seller_id as "sellerId", o.reference, e.sequence, e.state,
  e.attempts, e.created_at as "createdAt", e.next_attempt_at as "nextAttemptAt", ${ADDRESS_COLUMNS},
  e.content_deleted_at as "contentDeletedAt",
  (select json_build_object('status', status, 'error', error, 'errorDetail', error_detail) from webhook_attempt a
   where a.event_id = e.id order by attempt desc limit 1) as "lastAttempt",
  case when e.state = 'pending' then (select min(b.sequence) from webhook_event b
   where b.order_id = e.order_id and b.state = 'pending' and b.sequence < e.sequence) end as "isAfter"`;

const FROM = 'webhook_event e join orders o on o.id = e.order_id join seller s on s.id = e.seller_id';

/** Lists webhooks, newest first. Webhooks that are created between two pages do not shift the pages. */
export async function findWebhooks(db: DbClient, filter: WebhookSelection, limit: number): Promise<ListedWebhook[]> {
  const { sellerId, state, orderIds, since, until, after } = filter;
  const { rows } = await db.query<ListedRow>(
    `select ${COLUMNS} from ${FROM}
     where ($1::uuid is null or e.seller_id = $1) and ($2::text is null or e.state = $2)
       and ($3::timestamptz is null or e.created_at >= $3) and ($4::timestamptz is null or e.created_at < $4)
       and ($7::uuid[] is null or e.order_id = any($7))
       and ($5::uuid is null or (e.created_at, e.id) < (
         select created_at, id from webhook_event where id = $5 and ($1::uuid is null or seller_id = $1)))
     order by e.created_at desc, e.id desc limit $6`,
    [sellerId, state, since, until, after, limit, orderIds],
  );
  return rows.map(withAddress);
}

interface FoundWebhook extends ListedWebhook {
  /** Null once the content was deleted. */
  body: string | null;
  traceparent: string | null;
}

/** @param sellerId if given, only this seller's webhook is found */
export async function findWebhook(
  db: DbClient,
  webhookId: string,
  sellerId?: string,
): Promise<FoundWebhook | undefined> {
  const { rows } = await db.query<ListedRow & Pick<FoundWebhook, 'body' | 'traceparent'>>(
    `select ${COLUMNS}, e.body, e.traceparent from ${FROM}
     where e.id = $1 and ($2::uuid is null or e.seller_id = $2)`,
    [webhookId, sellerId],
  );
  return rows[0] && withAddress(rows[0]);
}

/** SQL: true for the events of a `WebhookSelection` that can be resent, apart from `after`. */
const SELECTED = `content_deleted_at is null and ($1::uuid is null or seller_id = $1) and ($2::text is null or state = $2)
  and ($5::uuid[] is null or order_id = any($5))
  and ($3::timestamptz is null or created_at >= $3) and ($4::timestamptz is null or created_at < $4)`;

/** Counts the selected webhooks, and the amount of their orders, each once. */
export async function countWebhooksToResend(
  db: DbClient,
  { sellerId, state, orderIds, since, until }: WebhookSelection,
): Promise<{ webhooks: number; amountPence: number }> {
  const { rows } = await db.query<{ webhooks: string; amountPence: string | null }>(
    `with selected as (select order_id from webhook_event where ${SELECTED})
     select (select count(*) from selected) as webhooks, sum(amount_pence) as "amountPence"
     from orders where id in (select order_id from selected)`,
    [sellerId, state, since, until, orderIds],
  );
  return { webhooks: Number(rows[0]?.webhooks), amountPence: Number(rows[0]?.amountPence) };
}

/** Finds the selected webhooks, oldest first. */
export async function findWebhooksToResend(
  db: DbClient,
  { sellerId, state, orderIds, since, until, after }: WebhookSelection,
  limit: number,
): Promise<Pick<ListedWebhook, 'id' | 'orderId'>[]> {
  const { rows } = await db.query<Pick<ListedWebhook, 'id' | 'orderId'>>(
    `select id, order_id as "orderId" from webhook_event where ${SELECTED}
       and ($6::uuid is null or (created_at, id) > (select created_at, id from webhook_event where id = $6))
     order by created_at, id limit $7`,
    [sellerId, state, since, until, orderIds, after, limit],
  );
  return rows;
}
