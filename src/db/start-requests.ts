import type { DbClient } from './pool';

/** Deletes the start requests of orders whose workflows are started. */
export async function deleteStartRequests(db: DbClient, orderIds: readonly string[]): Promise<void> {
  await db.query('delete from start_request where order_id = any($1::uuid[])', [orderIds]);
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
