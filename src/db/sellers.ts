import type { Pricing } from '../domain/order';
import { createKey, digestOf } from './api-keys';
import { type Db, type DbClient, inTransaction } from './pool';

export interface Seller {
  id: string;
  name: string;
  defaultRedirectUrl: string | null;
  defaultCancelUrl: string | null;
  pricing: Pricing;
  /** The maximum amount of an order; null if only the service's own limit applies. */
  maxAmountPence: number | null;
  /** Requests per minute with all keys of the seller together; null if only the service's own limit applies. */
  rateLimit: number | null;
}

/** The owner of the key that a request presents. */
export type Caller = { kind: 'seller'; seller: Seller } | { kind: 'checkout' };

export type NewSeller = Pick<Seller, 'id' | 'name' | 'defaultRedirectUrl'> & { pricing?: Pricing };

export async function insertSeller(db: DbClient, { id, name, defaultRedirectUrl, pricing }: NewSeller): Promise<void> {
  await db.query(
    `insert into seller (id, name, default_redirect_url, pricing)
     values ($1, $2, $3, coalesce($4::jsonb, '{"representativeInterest": 0, "promotions": []}'))`,
    [id, name, defaultRedirectUrl, pricing ?? null],
  );
}

export async function findSeller(db: DbClient, id: string): Promise<Pick<Seller, 'id' | 'name'> | undefined> {
  const { rows } = await db.query<Pick<Seller, 'id' | 'name'>>('select id, name from seller where id = $1', [id]);
  return rows[0];
}

/** @returns the key, which cannot be read again: only its digest is stored */
export async function createSellerKey(db: DbClient, sellerId: string): Promise<string> {
  return (await createKey(db, { kind: 'seller', sellerId })).key;
}

/** @returns a key for the checkout flow, which serves the orders of all sellers */
export async function createCheckoutKey(db: DbClient): Promise<string> {
  return (await createKey(db, { kind: 'checkout' })).key;
}

interface CallerRow {
  digest: Buffer;
  kind: 'seller' | 'checkout';
  id: string;
  name: string;
  default_redirect_url: string | null;
  default_cancel_url: string | null;
  pricing: Pricing;
  max_amount_pence: string | null;
  rate_limit: number | null;
}

/**
 * Finds the owners of keys. A key that is unknown or revoked has none, and neither has a key of a disabled seller. Every
 * request needs its key's owner, so that a revocation takes effect immediately in every process.
 * @returns the owners in the order of the keys
 */
export async function findCallers(db: DbClient, keys: readonly string[]): Promise<(Caller | undefined)[]> {
  const digests = keys.map(digestOf);
  const { rows } = await db.query<CallerRow>({
    name: 'find_callers',
    text: `select k.digest, k.kind, s.id, s.name, s.default_redirect_url, s.default_cancel_url, s.pricing,
       s.max_order_amount_pence as max_amount_pence, s.rate_limit
     from api_key k left join seller s on s.id = k.seller_id
     where k.digest = any($1) and k.revoked_at is null and s.disabled_at is null`,
    values: [digests],
  });
  return digests.map((digest) => {
    const row = rows.find((one) => one.digest.equals(digest));
    return row && toCaller(row);
  });
}

export async function findCaller(db: DbClient, key: string): Promise<Caller | undefined> {
  return (await findCallers(db, [key]))[0];
}

function toCaller(row: CallerRow): Caller {
  if (row.kind === 'checkout') return { kind: 'checkout' };
  return {
    kind: 'seller',
    seller: {
      id: row.id,
      name: row.name,
      defaultRedirectUrl: row.default_redirect_url,
      defaultCancelUrl: row.default_cancel_url,
      pricing: row.pricing,
      maxAmountPence: row.max_amount_pence === null ? null : Number(row.max_amount_pence),
      rateLimit: row.rate_limit,
    },
  };
}

export async function insertWebhookSecret(db: DbClient, sellerId: string, secret: string): Promise<void> {
  await db.query('insert into webhook_secret (seller_id, secret) values ($1, $2)', [sellerId, secret]);
}

/** Lists the secrets that currently sign a seller's webhooks, newest first. */
export async function liveWebhookSecrets(db: DbClient, sellerId: string): Promise<string[]> {
  const { rows } = await db.query<{ secret: string }>(
    `select secret from webhook_secret
     where seller_id = $1 and (expires_at is null or expires_at > now()) order by id desc`,
    [sellerId],
  );
  return rows.map((row) => row.secret);
}

/** The maximum number of live secrets per seller: each one lengthens the signature header. */
export const MAX_LIVE_SECRETS = 5;

export type Rotation =
  /** `previousValidUntil`: when the last older secret expires; null if there is none. */
  | { kind: 'rotated'; previousValidUntil: Date | null }
  /** The seller would have too many live secrets until `possibleAt`, when the next one expires. */
  | { kind: 'too_many'; possibleAt: Date };

/**
 * Adds a signing secret. Older secrets continue to sign for at most `overlapMs`, so that the receiver can change to the
 * new one. None of them ends earlier to make room: a rotation that would leave too many live secrets changes nothing.
 * @returns undefined if the seller does not exist
 */
export async function rotateWebhookSecret(
  db: Db,
  sellerId: string,
  secret: string,
  overlapMs: number,
): Promise<Rotation | undefined> {
  return inTransaction(db, async (client) => {
    // The lock serialises concurrent rotations, and does not block new orders, which refer to the seller.
    const { rowCount: exists } = await client.query('select from seller where id = $1 for no key update', [sellerId]);
    if (!exists) return undefined;
    const { rows } = await client.query<{ live: number; until: Date | null; first: Date }>(
      `select count(*)::integer as live, max(until) as until, min(expires_at) as first
       from (select expires_at, least(expires_at, now() + $2 * interval '1 ms') as until from webhook_secret
         where seller_id = $1) older
       where until > now()`,
      [sellerId, overlapMs],
    );
    const older = rows[0];
    if (older && older.live >= MAX_LIVE_SECRETS) return { kind: 'too_many', possibleAt: older.first };
    await client.query(
      `update webhook_secret set expires_at = least(expires_at, now() + $2 * interval '1 ms') where seller_id = $1`,
      [sellerId, overlapMs],
    );
    await insertWebhookSecret(client, sellerId, secret);
    return { kind: 'rotated', previousValidUntil: older?.until ?? null };
  });
}

/** Deletes secrets that no longer sign. */
export async function deleteExpiredSecrets(db: DbClient): Promise<void> {
  await db.query('delete from webhook_secret where expires_at <= now()');
}
