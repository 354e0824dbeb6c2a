import { timingSafeEqual } from 'node:crypto';
import type { Pricing } from '../domain/order';
import { createKey, digestOf } from './api-keys';
import { type Db, type DbClient, inTransaction } from './pool';

export interface Seller {
  id: string;
  name: string;
  defaultRedirectUrl: string | null;
  pricing: Pricing;
  /** The most that an order of this seller may come to; null where the service's own limit is the only one. */
  maxAmountPence: number | null;
  /** Requests a minute with one key; null where the service's own limit applies. */
  rateLimit: number | null;
}

/** Who a request comes from, by the key it presents. */
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

/** @returns the key, shown this once: only its digest is kept. */
export async function createSellerKey(db: DbClient, sellerId: string): Promise<string> {
  return (await createKey(db, { kind: 'seller', sellerId })).key;
}

/** @returns a key for the checkout flow, which serves the orders of every seller. */
export async function createCheckoutKey(db: DbClient): Promise<string> {
  return (await createKey(db, { kind: 'checkout' })).key;
}

interface CallerRow {
  digest: Buffer;
  kind: 'seller' | 'checkout';
  id: string;
  name: string;
  default_redirect_url: string | null;
  pricing: Pricing;
  max_amount_pence: string | null;
  rate_limit: number | null;
}

/**
 * The caller that a live key of a live seller stands for. Every request asks: a key that is revoked or whose seller is
 * disabled stands for nobody from then on, in every process.
 */
export async function findCaller(db: DbClient, key: string): Promise<Caller | undefined> {
  const digest = digestOf(key);
  const { rows } = await db.query<CallerRow>(
    `select k.digest, k.kind, s.id, s.name, s.default_redirect_url, s.pricing,
       s.max_order_amount_pence as max_amount_pence, s.rate_limit
     from api_key k left join seller s on s.id = k.seller_id
     where k.digest = $1 and k.revoked_at is null and s.disabled_at is null`,
    [digest],
  );
  const row = rows[0];
  if (!row || !timingSafeEqual(row.digest, digest)) return undefined;
  if (row.kind === 'checkout') return { kind: 'checkout' };
  const { id, name, default_redirect_url: defaultRedirectUrl, pricing, max_amount_pence, rate_limit: rateLimit } = row;
  const maxAmountPence = max_amount_pence === null ? null : Number(max_amount_pence);
  return { kind: 'seller', seller: { id, name, defaultRedirectUrl, pricing, maxAmountPence, rateLimit } };
}

export async function insertWebhookSecret(db: DbClient, sellerId: string, secret: string): Promise<void> {
  await db.query('insert into webhook_secret (seller_id, secret) values ($1, $2)', [sellerId, secret]);
}

/** The secrets that sign a seller's webhooks now, the newest first. */
export async function liveWebhookSecrets(db: DbClient, sellerId: string): Promise<string[]> {
  const { rows } = await db.query<{ secret: string }>(
    `select secret from webhook_secret
     where seller_id = $1 and (expires_at is null or expires_at > now()) order by id desc`,
    [sellerId],
  );
  return rows.map((row) => row.secret);
}

/** Live secrets a seller may have; each one makes the signature header longer. */
const MAX_LIVE_SECRETS = 5;

/**
 * Makes a secret the seller's newest. The others go on signing beside it for `overlapMs` at the most, so that the
 * receiver can change over in that time; beyond five the oldest end at once.
 * @returns when the last of the others ends, null where there is none; undefined where there is no such seller
 */
export async function rotateWebhookSecret(
  db: Db,
  sellerId: string,
  secret: string,
  overlapMs: number,
): Promise<Date | null | undefined> {
  return inTransaction(db, async (client) => {
    // Two rotations at once are made one after the other.
    const { rowCount: exists } = await client.query('select from seller where id = $1 for update', [sellerId]);
    if (!exists) return undefined;
    await client.query(
      `update webhook_secret set expires_at = case when place < $3
         then least(expires_at, now() + $2 * interval '1 ms') else now() end
       from (select id as live_id, row_number() over (order by id desc) as place from webhook_secret
         where seller_id = $1 and (expires_at is null or expires_at > now())) live
       where id = live_id`,
      [sellerId, overlapMs, MAX_LIVE_SECRETS],
    );
    const { rows } = await client.query<{ until: Date | null }>(
      'select max(expires_at) as until from webhook_secret where seller_id = $1 and expires_at > now()',
      [sellerId],
    );
    await insertWebhookSecret(client, sellerId, secret);
    return rows[0]?.until ?? null;
  });
}
