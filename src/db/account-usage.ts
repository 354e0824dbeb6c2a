import type { DbClient } from './pool';

/** What an account has created on one day (UTC). */
export interface Usage {
  orders: number;
  /** Of the orders' facts as JSON. */
  bytes: number;
}

const TODAY = `(now() at time zone 'utc')::date`;

/**
 * Adds to what accounts have created today.
 * @returns the sum of all processes, of each of these accounts
 */
export async function addUsage(db: DbClient, added: ReadonlyMap<string, Usage>): Promise<Map<string, Usage>> {
  const usages = [...added.values()];
  const { rows } = await db.query<Usage & { sellerId: string }>(
    `insert into account_usage as u (seller_id, day, orders, bytes)
     select id, ${TODAY}, a.orders, a.bytes from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as a (id, orders, bytes)
     join seller using (id) order by id
     on conflict (seller_id) do update set day = excluded.day,
       orders = excluded.orders + case when u.day = excluded.day then u.orders else 0 end,
       bytes = excluded.bytes + case when u.day = excluded.day then u.bytes else 0 end
     returning seller_id as "sellerId", orders::float8, bytes::float8`,
    [[...added.keys()], usages.map(({ orders }) => orders), usages.map(({ bytes }) => bytes)],
  );
  return new Map(rows.map(({ sellerId, ...usage }) => [sellerId, usage]));
}

/** Finds the accounts that have created the most bytes today. */
export async function findLargestAccounts(db: DbClient): Promise<(Usage & { sellerId: string })[]> {
  const { rows } = await db.query<Usage & { sellerId: string }>(
    `select seller_id as "sellerId", orders::float8, bytes::float8 from account_usage
     where day = ${TODAY} order by bytes desc limit 10`,
  );
  return rows;
}
