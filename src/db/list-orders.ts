import type { OrderStatus, PaymentTerm } from '../domain/order';
import { type OrderRow, type StoredOrder, ORDER_COLUMNS, toStoredOrder } from './orders';
import type { DbClient } from './pool';
import { type Columns, statement } from './statement';

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
export async function findWaitingOrders(db: DbClient, ageMs: number, limit: number): Promise<StoredOrder[]> {
  const { rows } = await db.query<OrderRow>(
    `select ${ORDER_COLUMNS} from orders o join (
       select order_id, created_at as since, row_number() over (partition by seller_id order by created_at) as turn
       from start_request where created_at < now() - $1 * interval '1 ms' order by turn, since limit $2
     ) waiting on order_id = o.id order by turn, since`,
    [ageMs, limit],
  );
  return rows.map(toStoredOrder);
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

/** Finds the orders of all sellers that have a reference, newest first. */
export async function findOrderIds(db: DbClient, reference: string): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    'select id from orders where reference = $1 order by created_at desc, id desc',
    [reference],
  );
  return rows.map(({ id }) => id);
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
