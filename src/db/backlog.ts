import { type OrderStatus, ORDER_STATUSES } from '../domain/order';
import type { DbClient } from './pool';

/** Above this number of orders, the counts by status are estimates: a count would read the whole table. */
const EXACT_BELOW = 50_000;

/** The work that waits, for all processes together. Ages in seconds, 0 if nothing waits. */
export interface Backlog {
  /** Orders of a restored backup whose rows lack changes: they wait for `reconcile`. */
  ordersBehind: number;
  ordersWaiting: number;
  oldestOrderWaitingSeconds: number;
  webhooksPending: number;
  oldestWebhookPendingSeconds: number;
  /** Exhausted webhooks of changes within the last seven days: what a person may want to resend. */
  webhooksExhausted: number;
}

/**
 * Reads small indexes only: `orders_behind`, `start_request`, `webhook_event_undelivered_by_age` and
 * `webhook_event_undelivered`.
 */
export async function readBacklog(db: DbClient): Promise<Backlog> {
  const { rows } = await db.query<Backlog>(
    `select
       (select count(*)::integer from orders where behind_version is not null) as "ordersBehind",
       (select count(*)::integer from start_request) as "ordersWaiting",
       ${ageOf('start_request')} as "oldestOrderWaitingSeconds",
       (select count(*)::integer from webhook_event where state = 'pending') as "webhooksPending",
       ${ageOf("webhook_event where state = 'pending'")} as "oldestWebhookPendingSeconds",
       (select count(*)::integer from webhook_event
        where state = 'exhausted' and created_at > now() - interval '7 days'
       ) as "webhooksExhausted"`,
  );
  const [backlog] = rows;
  if (!backlog) throw new Error('the query returned no row');
  return backlog;
}

/** Finds the sellers with the most exhausted webhooks of the last seven days. */
export async function findFailingSellers(db: DbClient): Promise<{ sellerId: string; exhausted: number }[]> {
  const { rows } = await db.query<{ sellerId: string; exhausted: number }>(
    `select seller_id as "sellerId", count(*)::integer as exhausted from webhook_event
     where state = 'exhausted' and created_at > now() - interval '7 days' group by 1 order by 2 desc limit 10`,
  );
  return rows;
}

const ageOf = (rows: string): string =>
  `coalesce((select extract(epoch from now() - min(created_at)) from ${rows}), 0)::float8`;

type OrdersByStatus = Record<OrderStatus, number>;

/** Counts orders by status. With many orders, it is Postgres' estimate, within a few percent of the last ANALYZE. */
export async function countOrdersByStatus(db: DbClient): Promise<OrdersByStatus> {
  const counts = Object.fromEntries(ORDER_STATUSES.map((status) => [status, 0])) as OrdersByStatus;
  const { rows } = await db.query<{ total: number }>(
    `select reltuples::float8 as total from pg_class where oid = 'orders'::regclass`,
  );
  const total = rows[0]?.total ?? 0;
  const { rows: byStatus } = await db.query<{ status: OrderStatus; count: number }>(
    total < EXACT_BELOW
      ? 'select status, count(*)::integer as count from orders group by status'
      : `select v.status, round(v.share * ${total})::float8 as count from pg_stats,
           unnest(most_common_vals::text::text[], most_common_freqs) as v(status, share)
         where schemaname = current_schema() and tablename = 'orders' and attname = 'status'`,
  );
  for (const { status, count } of byStatus) counts[status] = count;
  return counts;
}
