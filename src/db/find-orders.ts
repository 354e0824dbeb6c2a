import type { Attachments, Order, OrderChange, OrderHistory, PaymentTerm, Pricing } from '../domain/order';
import type { OrderStatus } from '../domain/status';
import type { DbClient } from './pool';

/** An order without its timeline, as lists show it. */
export interface ListedOrder {
  order: Order;
  attachments: Attachments;
}

/** An order as Postgres holds it. */
export interface StoredOrder extends ListedOrder, OrderHistory {
  /** True once its workflow has been started. */
  started: boolean;
}

export interface OrderRow {
  id: string;
  seller_id: string;
  seller_name: string;
  sandbox: boolean;
  amount_pence: string;
  reference: string;
  allowed_payment_terms: PaymentTerm[];
  redirect_url: string;
  cancel_url: string | null;
  webhook_url: string | null;
  pay_link_id: string;
  pricing: Pricing;
  source: string | null;
  meta_data: string | null;
  created_at: Date;
  expires_at: Date | null;
  version: number;
  status: OrderStatus;
  cancelled_at: Date | null;
}

export interface StoredOrderRow extends OrderRow {
  started: boolean;
  changes: (Omit<OrderChange, 'at'> & { at: string })[];
}

/** SQL: the changes of an order `o`, oldest first. */
export const CHANGES = `(
  select coalesce(json_agg(json_build_object('version', t.version, 'event', t.event, 'from', t.from_status,
    'to', t.to_status, 'actor', t.actor, 'channel', t.channel, 'reason', t.reason, 'at', t.at) order by t.version), '[]')
  from order_timeline t where t.order_id = o.id and t.version is not null)`;

/** SQL, of an order `o`. The workflow of a settled order, which has no row in `order_work`, has been started. */
export const STARTED = 'coalesce((select w.started from order_work w where w.order_id = o.id), true)';

/** SQL: the columns of `OrderRow`, of an order `o`. */
export const ORDER_COLUMNS = `o.id, o.seller_id, o.seller_name, o.sandbox, o.amount_pence, o.reference, o.allowed_payment_terms,
  o.redirect_url, o.cancel_url, o.webhook_url, o.pay_link_id, o.pricing, o.source, o.meta_data::text as meta_data,
  o.created_at, o.expires_at, o.version, o.status, o.cancelled_at`;

/** SQL: the columns of `StoredOrderRow`, of an order `o`. */
export const STORED_ORDER_COLUMNS = `${ORDER_COLUMNS}, ${STARTED} as started, ${CHANGES} as changes`;

export function toListedOrder(row: OrderRow): ListedOrder {
  return {
    order: {
      id: row.id,
      sellerId: row.seller_id,
      sellerName: row.seller_name,
      sandbox: row.sandbox,
      amountPence: Number(row.amount_pence),
      reference: row.reference,
      allowedPaymentTerms: row.allowed_payment_terms,
      redirectUrl: row.redirect_url,
      cancelUrl: row.cancel_url,
      webhookUrl: row.webhook_url,
      payLinkId: row.pay_link_id,
      pricing: row.pricing,
      createdAt: row.created_at.toISOString(),
      expiresAt: row.expires_at?.toISOString() ?? null,
      version: row.version,
      status: row.status,
      cancelledAt: row.cancelled_at?.toISOString() ?? null,
    },
    attachments: { source: row.source, metaData: row.meta_data },
  };
}

export function toStoredOrder(row: StoredOrderRow): StoredOrder {
  return { ...toListedOrder(row), changes: toChanges(row.changes), started: row.started };
}

/** Postgres writes times into JSON in its own time zone. */
export function toChanges(changes: StoredOrderRow['changes']): OrderChange[] {
  return changes.map((change) => ({ ...change, at: new Date(change.at).toISOString() }));
}

/** Locks the order's row until the transaction ends. */
export async function lockOrder(client: DbClient, orderId: string): Promise<void> {
  await client.query('select from orders where id = $1 for update', [orderId]);
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
  const { rows } = await db.query<StoredOrderRow>(
    `select ${STORED_ORDER_COLUMNS} from orders o where o.pay_link_id = $1`,
    [payLinkId],
  );
  return rows[0] && toStoredOrder(rows[0]);
}

/** Finds the order that holds a seller's reference: the one that is not UNSUCCESSFUL. */
export async function findOrderByReference(
  db: DbClient,
  sellerId: string,
  reference: string,
): Promise<Pick<Order, 'id' | 'payLinkId' | 'status' | 'amountPence'> | undefined> {
  const { rows } = await db.query<Pick<OrderRow, 'id' | 'pay_link_id' | 'status' | 'amount_pence'>>(
    `select id, pay_link_id, status, amount_pence from orders
     where seller_id = $1 and reference = $2 and status <> 'UNSUCCESSFUL'`,
    [sellerId, reference],
  );
  if (!rows[0]) return undefined;
  const { id, pay_link_id: payLinkId, status, amount_pence } = rows[0];
  return { id, payLinkId, status, amountPence: Number(amount_pence) };
}
