import type { Attachments, Order, OrderChange, OrderHistory } from '../domain/order';
import { type OrderStatus, unsuccessfulReason } from '../domain/status';
import type { DbClient } from './pool';

/** An order without its timeline, as lists show it. */
interface ListedOrder {
  order: Order;
  attachments: Attachments;
}

/** An order as Postgres holds it. */
export interface StoredOrder extends ListedOrder, OrderHistory {
  /** True once its workflow has been started. */
  started: boolean;
  /** The version that its workflow has, if the row of a restored backup lacks changes; null for every other order. */
  workflowVersion: number | null;
}

interface OrderRow
  extends
    Omit<Order, 'amountPence' | 'createdAt' | 'expiresAt' | 'cancelledAt' | 'updatedAt' | 'unsuccessfulReason'>,
    Attachments {
  amountPence: string;
  createdAt: Date;
  expiresAt: Date | null;
  cancelledAt: Date | null;
  updatedAt: Date;
  /** The event that made the order UNSUCCESSFUL; null in another status. */
  unsuccessfulEvent: string | null;
}

interface StoredOrderRow extends OrderRow {
  started: boolean;
  workflowVersion: number | null;
  changes: (Omit<OrderChange, 'at'> & { at: string })[];
}

/** SQL: the changes of an order `o`, oldest first. */
const CHANGES = `(
  select coalesce(json_agg(json_build_object('version', t.version, 'event', t.event, 'from', t.from_status,
    'to', t.to_status, 'actor', t.actor, 'channel', t.channel, 'reason', t.reason, 'at', t.at) order by t.version), '[]')
  from order_timeline t where t.order_id = o.id and t.version is not null)`;

/** SQL, true for an order `o` whose workflow has been started. */
const STARTED = 'not exists (select from start_request s where s.order_id = o.id)';

/** SQL: the columns of `OrderRow`, of an order `o`. */
const ORDER_COLUMNS = `o.id, o.seller_id as "sellerId", o.seller_name as "sellerName", o.sandbox,
  o.amount_pence as "amountPence", o.reference, o.allowed_payment_terms as "allowedPaymentTerms",
  o.redirect_url as "redirectUrl", o.cancel_url as "cancelUrl", o.webhook_url as "webhookUrl",
  o.pay_link_id as "payLinkId", o.pricing, o.source, o.meta_data as "metaData", o.created_at as "createdAt",
  o.expires_at as "expiresAt", o.version, o.status, o.cancelled_at as "cancelledAt",
  (select t.at from order_timeline t where t.order_id = o.id and t.version = o.version) as "updatedAt",
  case when o.status = 'UNSUCCESSFUL' then (select t.event from order_timeline t where t.order_id = o.id
    and t.to_status = 'UNSUCCESSFUL' and t.version is not null order by t.version limit 1) end as "unsuccessfulEvent"`;

/** SQL: the columns of `StoredOrderRow`, of an order `o`. */
const STORED_ORDER_COLUMNS = `${ORDER_COLUMNS}, ${STARTED} as started, o.workflow_version as "workflowVersion",
  ${CHANGES} as changes`;

/** Names each field, because rows may have further columns. */
function toListedOrder(row: OrderRow): ListedOrder {
  return {
    order: {
      id: row.id,
      sellerId: row.sellerId,
      sellerName: row.sellerName,
      sandbox: row.sandbox,
      amountPence: Number(row.amountPence),
      reference: row.reference,
      allowedPaymentTerms: row.allowedPaymentTerms,
      redirectUrl: row.redirectUrl,
      cancelUrl: row.cancelUrl,
      webhookUrl: row.webhookUrl,
      payLinkId: row.payLinkId,
      pricing: row.pricing,
      createdAt: row.createdAt.toISOString(),
      expiresAt: row.expiresAt?.toISOString() ?? null,
      version: row.version,
      status: row.status,
      cancelledAt: row.cancelledAt?.toISOString() ?? null,
      updatedAt: row.updatedAt.toISOString(),
      unsuccessfulReason: row.unsuccessfulEvent === null ? null : unsuccessfulReason(row.unsuccessfulEvent, row.status),
    },
    attachments: { source: row.source, metaData: row.metaData },
  };
}

function toStoredOrder(row: StoredOrderRow): StoredOrder {
  const { started, workflowVersion } = row;
  return { ...toListedOrder(row), changes: toChanges(row.changes), started, workflowVersion };
}

/** Postgres writes times into JSON in its own time zone. */
function toChanges(changes: StoredOrderRow['changes']): OrderChange[] {
  return changes.map((change) => ({ ...change, at: new Date(change.at).toISOString() }));
}

/** Locks the order's row until the transaction ends. */
export async function lockOrder(client: DbClient, orderId: string): Promise<void> {
  await client.query('select from orders where id = $1 for update', [orderId]);
}

/** Reads several orders. Ids of orders that do not exist are left out. */
export async function findOrdersById(db: DbClient, ids: readonly string[]): Promise<StoredOrder[]> {
  const { rows } = await db.query<StoredOrderRow>(
    `select ${STORED_ORDER_COLUMNS} from orders o where o.id = any($1::uuid[]) order by o.id`,
    [ids],
  );
  return rows.map(toStoredOrder);
}

/**
 * Returns those of the orders for which a workflow has something to do: they are open, or have a pending webhook. Orders
 * that wait for `reconcile` are left out.
 */
export async function findOrdersToResume(db: DbClient, ids: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select id from orders o where id = any($1::uuid[]) and workflow_version is null
       and (status not in ('SUCCESSFUL', 'UNSUCCESSFUL')
         or exists (select from webhook_event e where e.order_id = o.id and e.state = 'pending'))`,
    [ids],
  );
  return rows.map(({ id }) => id);
}

/**
 * Finds orders for which something is left to do, or that wait for `reconcile`, among the next orders by their ids.
 * @param limit how many orders are searched: nearly all may be closed
 * @returns `last`: the id to continue after; undefined at the end
 */
export async function findOrdersToCompare(
  db: DbClient,
  { sellerId, after }: { sellerId?: string | undefined; after?: string | undefined },
  limit: number,
): Promise<{ ids: string[]; last: string | undefined }> {
  const { rows } = await db.query<{ id: string; isSelected: boolean }>(
    `select id, ($1::uuid is null or seller_id = $1)
       and (status not in ('SUCCESSFUL', 'UNSUCCESSFUL') or workflow_version is not null
         or exists (select from webhook_event e where e.order_id = o.id and e.state = 'pending')) as "isSelected"
     from (select * from orders where $2::uuid is null or id > $2 order by id limit $3) o order by id`,
    [sellerId, after, limit],
  );
  return { ids: rows.filter(({ isSelected }) => isSelected).map(({ id }) => id), last: rows.at(-1)?.id };
}

/** @param sellerId if given, only this seller's order is found */
export async function findOrder(db: DbClient, orderId: string, sellerId?: string): Promise<StoredOrder | undefined> {
  const { rows } = await db.query<StoredOrderRow>({
    name: 'find_order',
    text: `select ${STORED_ORDER_COLUMNS} from orders o where o.id = $1 and ($2::uuid is null or o.seller_id = $2)`,
    values: [orderId, sellerId],
  });
  return rows[0] && toStoredOrder(rows[0]);
}

export async function findOrderByPayLink(db: DbClient, payLinkId: string): Promise<StoredOrder | undefined> {
  const { rows } = await db.query<StoredOrderRow>({
    name: 'find_order_by_pay_link',
    text: `select ${STORED_ORDER_COLUMNS} from orders o where o.pay_link_id = $1`,
    values: [payLinkId],
  });
  return rows[0] && toStoredOrder(rows[0]);
}

/** Returns for each pay link whether an order has it. */
export async function arePayLinksKnown(db: DbClient, payLinkIds: readonly string[]): Promise<boolean[]> {
  const { rows } = await db.query<{ id: string }>({
    name: 'are_pay_links_known',
    text: 'select pay_link_id as id from orders where pay_link_id = any($1::uuid[])',
    values: [payLinkIds],
  });
  const known = new Set(rows.map(({ id }) => id));
  return payLinkIds.map((id) => known.has(id));
}

/** Returns for each pay link the seller of its order, or undefined if no order has it. */
export async function findSellersOfPayLinks(
  db: DbClient,
  payLinkIds: readonly string[],
): Promise<(string | undefined)[]> {
  const { rows } = await db.query<{ payLinkId: string; sellerId: string }>({
    name: 'find_sellers_of_pay_links',
    text: 'select pay_link_id as "payLinkId", seller_id as "sellerId" from orders where pay_link_id = any($1::uuid[])',
    values: [payLinkIds],
  });
  const sellers = new Map(rows.map(({ payLinkId, sellerId }) => [payLinkId, sellerId]));
  return payLinkIds.map((id) => sellers.get(id));
}

/** Finds the orders of all sellers that have a reference, newest first. */
export async function findOrderIds(db: DbClient, reference: string): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    'select id from orders where reference = $1 order by created_at desc, id desc',
    [reference],
  );
  return rows.map(({ id }) => id);
}

/** Finds the order that holds a seller's reference: the one that is not UNSUCCESSFUL. */
export async function findOrderByReference(
  db: DbClient,
  sellerId: string,
  reference: string,
): Promise<Pick<Order, 'id' | 'payLinkId' | 'status' | 'amountPence'> | undefined> {
  const { rows } = await db.query<Pick<OrderRow, 'id' | 'payLinkId' | 'status' | 'amountPence'>>(
    `select id, pay_link_id as "payLinkId", status, amount_pence as "amountPence" from orders
     where seller_id = $1 and reference = $2 and status <> 'UNSUCCESSFUL'`,
    [sellerId, reference],
  );
  return rows[0] && { ...rows[0], amountPence: Number(rows[0].amountPence) };
}

export interface OrderFilter {
  sellerId?: string | undefined;
  status?: OrderStatus | undefined;
  reference?: string | undefined;
  /** ISO 8601, inclusive. */
  createdFrom?: string | undefined;
  /** ISO 8601, exclusive. */
  createdBefore?: string | undefined;
  /** An order id: the list continues after this order. */
  after?: string | undefined;
}

/** A page has several orders, also if Postgres writes 1e300 with all its digits. */
const MAX_COUNTED = 32_768;

/**
 * Lists orders, newest first. Orders that are created between two pages do not shift the pages.
 * @returns also the size of each order's `meta_data` in Postgres
 * @param maxBytes the list ends with the order whose `meta_data` makes it larger; null for no limit
 */
export async function findOrders(
  db: DbClient,
  filter: OrderFilter,
  limit: number,
  maxBytes: number | null = null,
): Promise<(ListedOrder & { metaDataBytes: number })[]> {
  const { sellerId, status, reference, createdFrom, createdBefore, after } = filter;
  const { rows } = await db.query<OrderRow & { metaDataBytes: number }>(
    `select * from (select *, sum("metaDataBytes") over (
       order by "createdAt" desc, id desc rows between unbounded preceding and 1 preceding) as bytes_before from (
     select ${ORDER_COLUMNS}, least(coalesce(octet_length(o.meta_data::text), 0), ${MAX_COUNTED}) as "metaDataBytes" from orders o
     where ($1::uuid is null or o.seller_id = $1) and ($2::text is null or o.status = $2)
       and ($3::text is null or o.reference = $3)
       and ($4::timestamptz is null or o.created_at >= $4) and ($5::timestamptz is null or o.created_at < $5)
       and ($6::uuid is null or (o.created_at, o.id) < (
         select created_at, id from orders where id = $6 and ($1::uuid is null or seller_id = $1)))
     order by o.created_at desc, o.id desc limit $7) as page) as sized
     where $8::integer is null or coalesce(bytes_before, 0) <= $8 order by "createdAt" desc, id desc`,
    [sellerId, status, reference, createdFrom, createdBefore, after, limit, maxBytes],
  );
  return rows.map((row) => ({ ...toListedOrder(row), metaDataBytes: row.metaDataBytes }));
}
