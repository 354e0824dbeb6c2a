import type { CreatedOrderBody } from '../contracts/order-schemas';
import type { DbClient } from './pool';

/** The response to a request with an Idempotency-Key, and the digest of that request. */
interface StoredResponse {
  requestDigest: Buffer;
  response: CreatedOrderBody;
}

export async function findIdempotencyKey(
  db: DbClient,
  sellerId: string,
  key: string,
): Promise<StoredResponse | undefined> {
  const { rows } = await db.query<StoredResponse>(
    'select request_digest as "requestDigest", response from idempotency_key where seller_id = $1 and key = $2',
    [sellerId, key],
  );
  return rows[0];
}

/**
 * Deletes at most `limit` keys that are older than `days`, oldest first. Concurrent calls delete different keys.
 * @returns the number of deleted keys
 */
export async function pruneIdempotencyKeys(db: DbClient, days: number, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from idempotency_key where ctid = any(array(
       select ctid from idempotency_key where created_at < now() - $1 * interval '1 day'
       order by created_at limit $2 for update skip locked))`,
    [days, limit],
  );
  return rowCount ?? 0;
}
