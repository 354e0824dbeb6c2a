import type { StatusWebhook } from '../contracts/order-mapper';
import type { CreatedOrderBody } from '../contracts/order-schemas';
import {
  type Order,
  type OrderChange,
  type OrderFacts,
  type RequestContext,
  type Settlement,
  creation,
  stateOf,
} from '../domain/order';
import { type Db, type DbClient, runStatement } from './pool';
import { type Columns, isoOf, jsonOf, namesOf, parametersOf, selectionOf, statement } from './statement';

/** An order as Postgres holds it. */
export interface StoredOrder extends Order {
  /** True once its workflow has been started. */
  started: boolean;
  /** The order does not expire before this time (ISO 8601); null if nothing has asked for it. */
  heldUntil: string | null;
  /** The version that its workflow has, if the row of a restored backup lacks changes; null for every other order. */
  behindVersion: number | null;
}

/** In `orders`. Reads and the insert are made from it. */
const FACT_COLUMNS: Columns<OrderFacts> = {
  id: 'id',
  sellerId: 'seller_id',
  sellerName: 'seller_name',
  sandbox: 'sandbox',
  amountPence: 'amount_pence',
  reference: 'reference',
  allowedPaymentTerms: 'allowed_payment_terms',
  redirectUrl: 'redirect_url',
  cancelUrl: 'cancel_url',
  webhookUrl: 'webhook_url',
  payLinkId: 'pay_link_id',
  pricing: 'pricing',
  source: 'source',
  metaData: 'meta_data',
};

/** In `order_timeline`. Reads and saves are made from it. */
export const CHANGE_COLUMNS: Columns<OrderChange> = {
  version: 'version',
  event: 'event',
  from: 'from_status',
  to: 'to_status',
  actor: 'actor',
  channel: 'channel',
  reason: 'reason',
  paymentTerm: 'payment_term',
  at: 'at',
};

/** SQL: the columns of `OrderRow`, of an order `o`. */
export const ORDER_COLUMNS = `${selectionOf(FACT_COLUMNS)}, ${isoOf('expires_at')} as "expiresAt", ${isoOf('held_until')} as "heldUntil",
  not exists (select from start_request s where s.order_id = o.id) as started, behind_version as "behindVersion", settlement,
  (select json_agg(${jsonOf({ ...CHANGE_COLUMNS, at: isoOf('at') })} order by version)
   from order_timeline t where t.order_id = o.id and version is not null) as changes`;

export type OrderRow = OrderFacts &
  Pick<StoredOrder, 'expiresAt' | 'heldUntil' | 'started' | 'behindVersion' | 'settlement' | 'changes'>;

/** The timeline has the state: the columns of the row are for searches and for saves. */
export const toStoredOrder = ({ expiresAt, changes, ...row }: OrderRow): StoredOrder => ({
  ...row,
  ...stateOf(changes, expiresAt),
});

/** True if the order is open or has a pending webhook. False if it waits for `reconcile`. */
export async function isLeftToDo(db: DbClient, orderId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from orders o where id = $1 and behind_version is null and (status not in ('SUCCESSFUL', 'UNSUCCESSFUL')
       or exists (select from webhook_event e where e.order_id = o.id and e.state = 'pending'))`,
    [orderId],
  );
  return rowCount === 1;
}

/** @param sellerId if given, only this seller's order is found */
export async function findOrder(db: DbClient, orderId: string, sellerId?: string): Promise<StoredOrder | undefined> {
  const { rows } = await db.query<OrderRow>({
    name: 'find_order',
    text: `select ${ORDER_COLUMNS} from orders o where o.id = $1 and ($2::uuid is null or o.seller_id = $2)`,
    values: [orderId, sellerId],
  });
  return rows[0] && toStoredOrder(rows[0]);
}

export async function findOrderByPayLink(db: DbClient, payLinkId: string): Promise<StoredOrder | undefined> {
  const { rows } = await db.query<OrderRow>({
    name: 'find_order_by_pay_link',
    text: `select ${ORDER_COLUMNS} from orders o where o.pay_link_id = $1`,
    values: [payLinkId],
  });
  return rows[0] && toStoredOrder(rows[0]);
}

/** For each page, before its seller's turn: reads nothing else. */
export async function findSellerOfPayLink(db: DbClient, payLinkId: string): Promise<string | undefined> {
  const { rows } = await db.query<{ sellerId: string }>({
    name: 'find_seller_of_pay_link',
    text: 'select seller_id as "sellerId" from orders where pay_link_id = $1',
    values: [payLinkId],
  });
  return rows[0]?.sellerId;
}

/** Finds the order that holds a seller's reference: the one that is not UNSUCCESSFUL. */
export async function findOrderByReference(
  db: DbClient,
  sellerId: string,
  reference: string,
): Promise<Pick<Order, 'id' | 'payLinkId' | 'status' | 'amountPence'> | undefined> {
  const { rows } = await db.query<Pick<Order, 'id' | 'payLinkId' | 'status' | 'amountPence'>>(
    `select id, pay_link_id as "payLinkId", status, amount_pence as "amountPence" from orders
     where seller_id = $1 and reference = $2 and status <> 'UNSUCCESSFUL'`,
    [sellerId, reference],
  );
  return rows[0];
}

/** How an order is created. */
export interface Creation {
  /** ISO 8601; undefined for the default. */
  expiresAt?: string | undefined;
  /** The default, in milliseconds; undefined for never. */
  expiresAfterMs?: number | undefined;
  idempotency?: Idempotency | undefined;
}

/** An Idempotency-Key with the request that it belongs to, and the response that a repeat gets. */
interface Idempotency {
  key: string;
  requestDigest: Buffer;
  response: CreatedOrderBody;
}

const INSERT_ORDER = `
  with new_key as (
    insert into idempotency_key (seller_id, key, request_digest, order_id, response)
    select :sellerId, :key, :requestDigest, :id, :response where :key::text is not null
    on conflict do nothing returning key
  ), new_order as (
    insert into orders (${namesOf(FACT_COLUMNS)}, created_at, saved_at, expires_at, version, status)
    select ${parametersOf(FACT_COLUMNS)}, at, at,
      coalesce(:expiresAt::timestamptz, at + :expiresAfterMs * interval '1 ms'), 1, 'CREATED'
    from (select listed_time() as at offset 0) as dated
    where :key::text is null or exists (select from new_key)
    returning id, seller_id, created_at, expires_at
  ), start as (
    insert into start_request (order_id, seller_id) select id, seller_id from new_order
  ), entry as (
    insert into order_timeline (order_id, version, event, to_status, actor, channel, at)
    select id, 1, 'created', 'CREATED', 'seller', 'api', created_at from new_order
  )
  select ${isoOf('created_at')} as "createdAt", ${isoOf('expires_at')} as "expiresAt" from new_order`;

/**
 * Inserts an order, its first timeline entry, its start request and its Idempotency-Key: all or nothing. A second
 * request with the same key waits here, on the key's index, until the first one commits.
 * @returns undefined if the key is stored already
 * @throws a unique violation of `orders_reference` if another order holds the seller's reference
 */
export async function insertOrder(
  db: Db,
  facts: OrderFacts,
  { expiresAt, expiresAfterMs, idempotency }: Creation = {},
): Promise<Order | undefined> {
  const { rows } = await runStatement<Pick<Order, 'createdAt' | 'expiresAt'>>(db, {
    name: 'insert_order',
    ...statement(INSERT_ORDER, {
      ...facts,
      expiresAt,
      expiresAfterMs,
      key: idempotency?.key,
      requestDigest: idempotency?.requestDigest,
      response: idempotency && JSON.stringify(idempotency.response),
    }),
  });
  const [dated] = rows;
  return dated && { ...facts, ...stateOf([creation(dated.createdAt)], dated.expiresAt), settlement: null };
}

/** Finds the request that has used an Idempotency-Key. */
export async function findIdempotencyKey(db: DbClient, sellerId: string, key: string) {
  const { rows } = await db.query<Pick<Idempotency, 'requestDigest' | 'response'>>({
    name: 'find_idempotency_key',
    text: 'select request_digest as "requestDigest", response from idempotency_key where seller_id = $1 and key = $2',
    values: [sellerId, key],
  });
  return rows[0];
}

/** Deletes the start requests of orders whose workflows are started. */
export async function deleteStartRequests(db: DbClient, orderIds: readonly string[]): Promise<void> {
  const text = 'delete from start_request where order_id = any($1::uuid[])';
  await db.query({ name: 'delete_start_requests', text, values: [orderIds] });
}

/** The row has what lists filter and order by; what else a change sets is read from the timeline. */
const SAVE_CHANGE = `
  with saved as (
    update orders set version = :version, status = :to, saved_at = greatest(listed_time(), :at),
      payment_term = coalesce(:paymentTerm, payment_term), completed_at = case when :to = 'SUCCESSFUL' then :at end
    where id = :orderId and version = :version - 1
    returning id, seller_id, webhook_url
  ), entry as (
    insert into order_timeline (order_id, ${namesOf(CHANGE_COLUMNS)}) select id, ${parametersOf(CHANGE_COLUMNS)} from saved
  ), webhook as (
    insert into webhook_event (id, order_id, seller_id, sequence, body, request_id, traceparent, state)
    select :webhookId, id, seller_id, :sequence, :body, :requestId, :traceparent,
      case when coalesce(webhook_url, (select s.webhook_url from seller s where s.id = seller_id)) is null
        then 'disabled' else 'pending' end
    from saved where :webhookId::uuid is not null
    returning state
  )
  select coalesce((select state = 'pending' from webhook), false) as "isPending" from saved`;

/**
 * Saves a change with its webhook, if the order is at the version before it: row, timeline and webhook event, all or
 * nothing.
 * @param request that made the change
 * @returns undefined if the order is at another version: nothing changed. `isPending`: its webhook has to be sent
 */
export async function commitChange(
  db: DbClient,
  orderId: string,
  change: OrderChange,
  webhook?: StatusWebhook,
  request?: RequestContext,
): Promise<{ isPending: boolean } | undefined> {
  const { rows } = await db.query<{ isPending: boolean }>({
    name: 'save_change',
    ...statement(SAVE_CHANGE, {
      orderId,
      ...change,
      webhookId: webhook?.id,
      sequence: webhook?.sequence,
      body: webhook?.body,
      requestId: request?.requestId,
      traceparent: request?.traceparent,
    }),
  });
  return rows[0];
}

/** A refused request that came by signal. A signal has no response, so the refusal is recorded in the timeline. */
export interface Refusal extends Pick<OrderChange, 'from' | 'actor' | 'channel' | 'reason' | 'at'> {
  /** A UUID. */
  id: string;
  orderId: string;
  /** As requested: it may be an event that does not exist. */
  event: string;
}

/**
 * Records a refusal. Its position is taken under the lock on the row, as for every entry.
 * @returns false if it was recorded before
 */
export async function insertRefusal(db: DbClient, refusal: Refusal): Promise<boolean> {
  const { rowCount } = await db.query(
    statement(
      `with locked as (select id from orders where id = :orderId for update)
       insert into order_timeline (refusal_id, order_id, event, from_status, to_status, actor, channel, reason, at)
       select :id, id, :event, :from, :from, :actor, :channel, :reason, :at from locked
       on conflict (refusal_id) where refusal_id is not null do nothing`,
      { ...refusal },
    ),
  );
  return rowCount === 1;
}

/**
 * Keeps an order from expiring before a time: its workflow reads the row when the expiry is due. Never shortens a hold:
 * it may be that of another step, such as a payment whose result cannot be reported yet.
 */
export async function holdOrder(db: DbClient, orderId: string, until: Date): Promise<void> {
  await db.query('update orders set held_until = greatest(held_until, $2) where id = $1', [orderId, until]);
}

/** Records how the seller is paid. The first settlement stays: a seller may have booked it. */
export async function recordSettlement(db: DbClient, orderId: string, settlement: Settlement): Promise<void> {
  await db.query('update orders set settlement = $2 where id = $1 and settlement is null', [orderId, settlement]);
}

/**
 * Records that the row lacks changes that its workflow has, up to `version`.
 * @returns false if it lacks none
 */
export async function markRowBehind(db: DbClient, orderId: string, version: number): Promise<boolean> {
  const { rowCount } = await db.query(
    'update orders set behind_version = greatest(behind_version, $2) where id = $1 and version < $2',
    [orderId, version],
  );
  return rowCount === 1;
}

/** Allows changes of the order again, once nothing is missing or an operator keeps the row. */
export async function clearRowBehind(db: DbClient, orderId: string): Promise<void> {
  await db.query('update orders set behind_version = null where id = $1', [orderId]);
}
