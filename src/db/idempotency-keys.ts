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
