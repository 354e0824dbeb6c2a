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

/**
 * Lists orders, newest first. Orders that are created between two pages do not shift the pages.
 * @param maxBytes the list ends with the order whose `meta_data` makes it larger; null for no limit
 */
export async function findOrders(
  db: DbClient,
  filter: OrderFilter,
  limit: number,
  maxBytes: number | null = null,
): Promise<ListedOrder[]> {
  const { sellerId, status, reference, createdFrom, createdBefore, after } = filter;
  const { rows } = await db.query<OrderRow>(
    `select * from (select *, sum(octet_length(meta_data)) over (
       order by created_at desc, id desc rows between unbounded preceding and 1 preceding) as bytes_before from (
     select ${ORDER_COLUMNS} from orders o
     where ($1::uuid is null or o.seller_id = $1) and ($2::text is null or o.status = $2)
       and ($3::text is null or o.reference = $3)
       and ($4::timestamptz is null or o.created_at >= $4) and ($5::timestamptz is null or o.created_at < $5)
       and ($6::uuid is null or (o.created_at, o.id) < (
         select created_at, id from orders where id = $6 and ($1::uuid is null or seller_id = $1)))
     order by o.created_at desc, o.id desc limit $7) as page) as sized
     where $8::integer is null or coalesce(bytes_before, 0) <= $8 order by created_at desc, id desc`,
    [sellerId, status, reference, createdFrom, createdBefore, after, limit, maxBytes],
  );
  return rows.map(toListedOrder);
}
