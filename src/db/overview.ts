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

/** SQL: the last 30 days in London, today included, and when each begins and ends. */
const DAYS = `(
  select day, day::timestamp at time zone 'Europe/London' as starts, (day + 1)::timestamp at time zone 'Europe/London' as ends
  from (select (now() at time zone 'Europe/London')::date - ago as day from generate_series(0, 29) ago) as dates)`;

/**
 * Counts a seller's orders for each of the last 30 days, oldest first. Each day is a range of an index: to convert the
 * time of each order costs more than to read it.
 */
export async function countOrdersByDay(db: DbClient, sellerId: string): Promise<DayOfOrders[]> {
  const { rows } = await db.query<DayOfOrders>(
    `select to_char(day, 'YYYY-MM-DD') as day, created, converted, completed, "completedPence"
     from ${DAYS} d, lateral (
       select count(*)::int as created, (count(*) filter (where status = 'SUCCESSFUL'))::int as converted
       from orders where seller_id = $1 and created_at >= starts and created_at < ends
     ) c, lateral (
       select count(*)::int as completed, coalesce(sum(amount_pence), 0)::float8 as "completedPence"
       from orders where seller_id = $1 and completed_at >= starts and completed_at < ends
     ) s
     order by d.day`,
    [sellerId],
  );
  return rows;
}

/** The median time from creation to completion of the orders that were completed in these days, in ms; null if none was. */
export async function medianCompletionMs(db: DbClient, sellerId: string): Promise<number | null> {
  const { rows } = await db.query<{ ms: number | null }>(
    `select (1000 * extract(epoch from percentile_cont(0.5) within group (order by completed_at - created_at)))::float8 as ms
     from orders where seller_id = $1 and completed_at >= (select min(starts) from ${DAYS} d)`,
    [sellerId],
  );
  return rows[0]?.ms ?? null;
}
