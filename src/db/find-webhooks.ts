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

/** SQL: true for an event `e` of a `WebhookSelection`, apart from `after`. */
const IS_SELECTED = `($1::uuid is null or e.seller_id = $1) and ($2::text is null or e.state = $2)
  and ($3::uuid[] is null or e.order_id = any($3))
  and ($4::timestamptz is null or e.created_at >= $4) and ($5::timestamptz is null or e.created_at < $5)`;

const valuesOf = ({ sellerId, state, orderIds, since, until }: WebhookSelection): unknown[] => [
  sellerId,
  state,
  orderIds,
  since,
  until,
];

/** Lists webhooks, newest first. Webhooks that are created between two pages do not shift the pages. */
export async function findWebhooks(db: DbClient, filter: WebhookSelection, limit: number): Promise<ListedWebhook[]> {
  const { rows } = await db.query<ListedRow>(
    `select ${COLUMNS} from ${FROM}
     where ${IS_SELECTED} and ($6::uuid is null or (e.created_at, e.id) < (
       select created_at, id from webhook_event where id = $6 and ($1::uuid is null or seller_id = $1)))
     order by e.created_at desc, e.id desc limit $7`,
    [...valuesOf(filter), filter.after, limit],
  );
  return rows.map(withAddress);
}

/**
 * The `body` is null once the content was deleted.
 * @param sellerId if given, only this seller's webhook is found
 */
export async function findWebhook(db: DbClient, webhookId: string, sellerId?: string) {
  const { rows } = await db.query<ListedRow & { body: string | null; traceparent: string | null }>(
    `select ${COLUMNS}, e.body, e.traceparent from ${FROM}
     where e.id = $1 and ($2::uuid is null or e.seller_id = $2)`,
    [webhookId, sellerId],
  );
  return rows[0] && withAddress(rows[0]);
}

/** Counts the selected webhooks that can be resent, and the amount of their orders, each once. */
export async function countWebhooksToResend(db: DbClient, filter: WebhookSelection) {
  const { rows } = await db.query<{ webhooks: string; amountPence: string | null }>(
    `with selected as (select order_id from webhook_event e where ${IS_SELECTED} and content_deleted_at is null)
     select (select count(*) from selected) as webhooks, sum(amount_pence) as "amountPence"
     from orders where id in (select order_id from selected)`,
    valuesOf(filter),
  );
  return { webhooks: Number(rows[0]?.webhooks), amountPence: Number(rows[0]?.amountPence) };
}

/** Finds the selected webhooks that can be resent, oldest first. */
export async function findWebhooksToResend(db: DbClient, filter: WebhookSelection, limit: number) {
  const { rows } = await db.query<Pick<ListedWebhook, 'id' | 'orderId'>>(
    `select id, order_id as "orderId" from webhook_event e where ${IS_SELECTED} and content_deleted_at is null
       and ($6::uuid is null or (created_at, id) > (select created_at, id from webhook_event where id = $6))
     order by created_at, id limit $7`,
    [...valuesOf(filter), filter.after, limit],
  );
  return rows;
}
