import type { OrderStatus } from '../domain/status';
import { type ListedOrder, type OrderRow, ORDER_COLUMNS, toListedOrder } from './find-orders';
import type { DbClient } from './pool';

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

/** Lists orders, newest first. Orders that are created between two pages do not shift the pages. */
export async function listOrders(db: DbClient, filter: OrderFilter, limit: number): Promise<ListedOrder[]> {
  const { sellerId, status, reference, createdFrom, createdBefore, after } = filter;
  const { rows } = await db.query<OrderRow>(
    `select ${ORDER_COLUMNS} from orders o
     where ($1::uuid is null or o.seller_id = $1) and ($2::text is null or o.status = $2)
       and ($3::text is null or o.reference = $3)
       and ($4::timestamptz is null or o.created_at >= $4) and ($5::timestamptz is null or o.created_at < $5)
       and ($6::uuid is null or (o.created_at, o.id) < (
         select created_at, id from orders where id = $6 and ($1::uuid is null or seller_id = $1)))
     order by o.created_at desc, o.id desc limit $7`,
    [sellerId, status, reference, createdFrom, createdBefore, after, limit],
  );
  return rows.map(toListedOrder);
}
