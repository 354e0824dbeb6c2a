import {
  type OrderChange,
  type OrderFacts,
  type Order,
  type OrderStatus,
  type PaymentTerm,
  stateOf,
} from '../domain/order';
import type { DbClient } from './pool';
import { type Columns, isoOf, jsonOf, selectionOf, statement } from './statement';

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
export const FACT_COLUMNS: Columns<OrderFacts> = {
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
const ORDER_COLUMNS = `${selectionOf(FACT_COLUMNS)}, ${isoOf('expires_at')} as "expiresAt", ${isoOf('held_until')} as "heldUntil",
  not exists (select from start_request s where s.order_id = o.id) as started, behind_version as "behindVersion", settlement,
  (select json_agg(${jsonOf({ ...CHANGE_COLUMNS, at: isoOf('at') })} order by version)
   from order_timeline t where t.order_id = o.id and version is not null) as changes`;

type OrderRow = OrderFacts &
  Pick<StoredOrder, 'expiresAt' | 'heldUntil' | 'started' | 'behindVersion' | 'settlement' | 'changes'>;

/** The timeline has the state: the columns of the row are for searches and for saves. */
const toStoredOrder = ({ expiresAt, changes, ...row }: OrderRow): StoredOrder => ({
  ...row,
  ...stateOf(changes, expiresAt),
});

/** Reads several orders. Ids of orders that do not exist are left out. */
export async function findOrdersById(db: DbClient, ids: readonly string[]): Promise<StoredOrder[]> {
  const { rows } = await db.query<OrderRow>(
    `select ${ORDER_COLUMNS} from orders o where o.id = any($1::uuid[]) order by o.id`,
    [ids],
  );
  return rows.map(toStoredOrder);
}

/**
 * Finds orders that have waited for the start of their workflow for longer than `ageMs`: each seller's oldest, then each
 * seller's second, and so on.
 */
export async function findWaitingOrders(db: DbClient, ageMs: number, limit: number): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select order_id as id from (
       select order_id, created_at, row_number() over (partition by seller_id order by created_at) as turn
       from start_request where created_at < now() - $1 * interval '1 ms') waiting
     order by turn, created_at limit $2`,
    [ageMs, limit],
  );
  return rows.map(({ id }) => id);
}

/** True if the order is open or has a pending webhook. False if it waits for `reconcile`. */
export async function isLeftToDo(db: DbClient, orderId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from orders o where id = $1 and behind_version is null and (status not in ('SUCCESSFUL', 'UNSUCCESSFUL')
       or exists (select from webhook_event e where e.order_id = o.id and e.state = 'pending'))`,
    [orderId],
  );
  return rowCount === 1;
}

/** Before every id. */
export const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** Finds the next orders by their ids that have something to do, or wait for `reconcile`. Reads no other order. */
export async function findLeftToDo(db: DbClient, after: string, limit: number): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `(select id from orders where id > $1 and status not in ('SUCCESSFUL', 'UNSUCCESSFUL') order by id limit $2)
     union (select order_id from webhook_event where order_id > $1 and state = 'pending' order by order_id limit $2)
     union (select id from orders where id > $1 and behind_version is not null order by id limit $2)
     order by id limit $2`,
    [after, limit],
  );
  return rows.map(({ id }) => id);
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

/** Returns the seller of the order with a pay link. */
export async function findSellerOfPayLink(db: DbClient, payLinkId: string): Promise<string | undefined> {
  const { rows } = await db.query<{ sellerId: string }>({
    name: 'find_seller_of_pay_link',
    text: 'select seller_id as "sellerId" from orders where pay_link_id = $1',
    values: [payLinkId],
  });
  return rows[0]?.sellerId;
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
  const { rows } = await db.query<Pick<Order, 'id' | 'payLinkId' | 'status' | 'amountPence'>>(
    `select id, pay_link_id as "payLinkId", status, amount_pence as "amountPence" from orders
     where seller_id = $1 and reference = $2 and status <> 'UNSUCCESSFUL'`,
    [sellerId, reference],
  );
  return rows[0];
}

export interface OrderFilter {
  sellerId?: string | undefined;
  status?: OrderStatus | undefined;
  reference?: string | undefined;
  amountPence?: number | undefined;
  paymentTerm?: PaymentTerm | undefined;
  /** ISO 8601, inclusive. */
  createdFrom?: string | undefined;
  /** ISO 8601, exclusive. */
  createdBefore?: string | undefined;
  /** ISO 8601, inclusive: orders whose last change was saved from then on. */
  savedFrom?: string | undefined;
  /** ISO 8601, exclusive. */
  savedBefore?: string | undefined;
  /** ISO 8601, inclusive: orders that became SUCCESSFUL from then on. */
  completedFrom?: string | undefined;
  /** ISO 8601, exclusive. */
  completedBefore?: string | undefined;
  /** An order id: the list continues after this order. */
  after?: string | undefined;
  /** The `listedAt` that the order had in the list, if it may have changed since. */
  afterTime?: string | undefined;
}

/** SQL: what each field of a filter selects. */
const CONDITIONS: Columns<Omit<OrderFilter, 'after' | 'afterTime'>> = {
  sellerId: 'seller_id = :sellerId',
  status: 'status = :status',
  reference: 'reference = :reference',
  amountPence: 'amount_pence = :amountPence',
  paymentTerm: 'payment_term = :paymentTerm',
  createdFrom: 'created_at >= :createdFrom',
  createdBefore: 'created_at < :createdBefore',
  savedFrom: 'saved_at >= :savedFrom',
  savedBefore: 'saved_at < :savedBefore',
  completedFrom: 'completed_at >= :completedFrom',
  completedBefore: 'completed_at < :completedBefore',
};

interface ListedOrder extends StoredOrder {
  /** The time by which the list is ordered, in Postgres' own format. */
  listedAt: string;
}

/**
 * Lists orders, newest first: by their last save with `savedFrom` or `savedBefore`, else by completion with
 * `completedFrom` or `completedBefore`, else by creation. Orders that are created between two pages do not shift the
 * pages. An order that is saved between two pages of a list by saves moves to its beginning.
 */
export async function findOrders(db: DbClient, filter: OrderFilter, limit: number): Promise<ListedOrder[]> {
  const isGiven = (...fields: (keyof OrderFilter)[]) => fields.some((field) => filter[field] !== undefined);
  const byCompletion = isGiven('completedFrom', 'completedBefore');
  const time = isGiven('savedFrom', 'savedBefore') ? 'saved_at' : byCompletion ? 'completed_at' : 'created_at';
  const conditions = Object.entries(CONDITIONS).filter(([field]) => isGiven(field as keyof OrderFilter));
  const last = `select ${time} from orders where id = :after and (:sellerId::uuid is null or seller_id = :sellerId)`;
  const { rows } = await db.query<OrderRow & { listedAt: string }>(
    statement(
      `select ${ORDER_COLUMNS}, ${time}::text as "listedAt" from orders o
       where (:after::uuid is null or (${time}, id) < (coalesce(:afterTime::timestamptz, (${last})), :after))
         ${conditions.map(([, condition]) => `and ${condition}`).join(' ')}
       order by ${time} desc, id desc limit :limit`,
      { sellerId: undefined, after: undefined, afterTime: undefined, ...filter, limit },
    ),
  );
  return rows.map(({ listedAt, ...row }) => ({ ...toStoredOrder(row), listedAt }));
}

const EXPORT_PAGE = 500;

/**
 * Reads all orders that a filter selects, in the order of `findOrders` and in pages. No order is read twice, although
 * orders change meanwhile.
 */
export async function* readOrders(db: DbClient, filter: OrderFilter): AsyncGenerator<StoredOrder[]> {
  for (let next: OrderFilter | undefined = filter; next;) {
    const page: ListedOrder[] = await findOrders(db, next, EXPORT_PAGE);
    yield page;
    const last = page[EXPORT_PAGE - 1];
    next = last && { ...filter, after: last.id, afterTime: last.listedAt };
  }
}
