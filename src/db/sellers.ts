import type { Pricing } from '../domain/order';
import { createKey, keyDigest } from './api-keys';
import type { DbClient } from './pool';

export interface Seller {
  id: string;
  name: string;
  /** True for a sandbox account, false for a live one. Never changes. */
  sandbox: boolean;
  defaultRedirectUrl: string | null;
  defaultCancelUrl: string | null;
  pricing: Pricing;
  /** The maximum amount of an order; null if only the service's own limit applies. */
  maxOrderAmountPence: number | null;
  /** Requests per minute with all keys of the seller together; null if only the service's own limit applies. */
  rateLimit: number | null;
}

/** The owner of the key that a request presents. */
export type Caller = { kind: 'seller'; seller: Seller } | { kind: 'checkout' };

type NewSeller = Pick<Seller, 'id' | 'name' | 'defaultRedirectUrl'> & { pricing?: Pricing; sandbox?: boolean };

export async function insertSeller(
  db: DbClient,
  { id, name, defaultRedirectUrl, pricing, sandbox = false }: NewSeller,
): Promise<void> {
  await db.query(
    `insert into seller (id, name, default_redirect_url, pricing, sandbox)
     values ($1, $2, $3, coalesce($4::jsonb, '{"representativeInterest": 0, "promotions": []}'), $5)`,
    [id, name, defaultRedirectUrl, pricing ?? null, sandbox],
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

/** The columns of the seller are null in the row of a checkout key. */
type CallerRow = Seller & { digest: Buffer; kind: Caller['kind'] };

/**
 * Finds the owners of keys. A key that is unknown or revoked has none, and neither has a key of a disabled seller.
 * @returns the owners in the order of the keys
 */
export async function findCallers(db: DbClient, keys: readonly string[]): Promise<(Caller | undefined)[]> {
  const digests = keys.map(keyDigest);
  const { rows } = await db.query<CallerRow>({
    name: 'find_callers',
    text: `select k.digest, k.kind, s.id, s.name, s.sandbox, s.default_redirect_url as "defaultRedirectUrl",
       s.default_cancel_url as "defaultCancelUrl", s.pricing, s.max_order_amount_pence as "maxOrderAmountPence",
       s.rate_limit as "rateLimit"
     from api_key k left join seller s on s.id = k.seller_id
     where k.digest = any($1) and k.revoked_at is null and s.disabled_at is null`,
    values: [digests],
  });
  const owners = rows.map(({ digest, kind, ...seller }) => {
    const caller: Caller = kind === 'seller' ? { kind, seller } : { kind };
    return { digest, caller };
  });
  return digests.map((digest) => owners.find((owner) => owner.digest.equals(digest))?.caller);
}

export async function findCaller(db: DbClient, key: string): Promise<Caller | undefined> {
  return (await findCallers(db, [key]))[0];
}
