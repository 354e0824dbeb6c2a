import type { DbClient } from './pool';

/** The orders of one day, in London. */
export interface DayOfOrders {
  /** ISO 8601, such as 2026-11-28. */
  day: string;
  /** Orders that were created on this day, and how many of them are SUCCESSFUL by now. */
  created: number;
  converted: number;
  /** Orders that became SUCCESSFUL on this day, and the sum of their amounts. */
  completed: number;
  completedPence: number;
}

/** SQL: midnight in London, `$2` days before tomorrow's. */
const SINCE = `((now() at time zone 'Europe/London')::date + 1 - $2::int)::timestamp at time zone 'Europe/London'`;

/** Counts a seller's orders for each of the last days, today included, oldest first. */
export async function countOrdersByDay(db: DbClient, sellerId: string, days: number): Promise<DayOfOrders[]> {
  const { rows } = await db.query<DayOfOrders>(
    `with created as (
       select (created_at at time zone 'Europe/London')::date as day, count(*)::int as created,
         (count(*) filter (where status = 'SUCCESSFUL'))::int as converted
       from orders where seller_id = $1 and created_at >= ${SINCE} group by 1
     ), completed as (
       select (completed_at at time zone 'Europe/London')::date as day, count(*)::int as completed,
         sum(amount_pence)::float8 as pence
       from orders where seller_id = $1 and completed_at >= ${SINCE} group by 1
     )
     select to_char(d.day, 'YYYY-MM-DD') as day, coalesce(created, 0) as created, coalesce(converted, 0) as converted,
       coalesce(completed, 0) as completed, coalesce(pence, 0) as "completedPence"
     from (select (now() at time zone 'Europe/London')::date - ago as day from generate_series(0, $2::int - 1) ago) d
       left join created on created.day = d.day left join completed on completed.day = d.day
     order by d.day`,
    [sellerId, days],
  );
  return rows;
}

/** The median time from creation to completion of the orders that were completed in the last days, in ms; null if none was. */
export async function medianCompletionMs(db: DbClient, sellerId: string, days: number): Promise<number | null> {
  const { rows } = await db.query<{ ms: number | null }>(
    `select 1000 * percentile_cont(0.5) within group (order by extract(epoch from completed_at - created_at)) as ms
     from orders where seller_id = $1 and completed_at >= ${SINCE}`,
    [sellerId, days],
  );
  return rows[0]?.ms ?? null;
}
