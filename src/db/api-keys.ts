import { createHash, randomBytes } from 'node:crypto';
import type { DbClient } from './pool';

/** The characters after the prefix that are kept: they reveal 30 of a key's 256 random bits. */
const SHOWN_CHARACTERS = 5;

/** Keys belong to a seller, or to the checkout flow, which serves the orders of all sellers. */
export type KeyKind = 'seller' | 'checkout';

/**
 * @param sellerId null for a key of the checkout flow
 * @returns the key, which cannot be read again: only its digest is stored
 */
export async function createKey(db: DbClient, sellerId: string | null, label: string | null = null) {
  const sellers = await db.query<{ sandbox: boolean }>('select sandbox from seller where id = $1', [sellerId]);
  // People recognize a key by its prefix. The service looks at the account instead.
  const prefix = sellerId === null ? 'ck_' : sellers.rows[0]?.sandbox ? 'sk_test_' : 'sk_';
  const key = prefix + randomBytes(32).toString('base64url');
  const kind: KeyKind = sellerId === null ? 'checkout' : 'seller';
  const { rows } = await db.query<{ id: number }>(
    'insert into api_key (digest, kind, seller_id, label, starts_with) values ($1, $2, $3, $4, $5) returning id',
    [keyDigest(key), kind, sellerId, label, key.slice(0, prefix.length + SHOWN_CHARACTERS)],
  );
  if (!rows[0]) throw new Error('the insert returned no row');
  return { id: rows[0].id, key };
}

/** A plain digest is enough: a key has 256 random bits, so it cannot be guessed. */
export function keyDigest(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

export interface ListedKey {
  id: number;
  startsWith: string;
  label: string | null;
  createdAt: Date;
  /** To the hour. */
  lastUsedAt: Date | null;
  revokedAt: Date | null;
}

/** Lists the keys of a seller, or those of the checkout flow, oldest first, revoked ones included. */
export async function listKeys(db: DbClient, sellerId: string | null): Promise<ListedKey[]> {
  const { rows } = await db.query<ListedKey>(
    `select id, starts_with as "startsWith", label, created_at as "createdAt",
       last_used_at as "lastUsedAt", revoked_at as "revokedAt"
     from api_key where seller_id is not distinct from $1 order by id`,
    [sellerId],
  );
  return rows;
}

/** Finds the keys that begin with a text. Only the first characters of a key are stored. */
export async function findKeys(
  db: DbClient,
  beginning: string,
): Promise<(ListedKey & { kind: KeyKind; sellerId: string | null; sellerName: string | null })[]> {
  const { rows } = await db.query<Awaited<ReturnType<typeof findKeys>>[number]>(
    `select k.kind, seller_id as "sellerId", s.name as "sellerName", k.id, starts_with as "startsWith", label,
       k.created_at as "createdAt", revoked_at as "revokedAt"
     from api_key k left join seller s on s.id = k.seller_id
     where starts_with(starts_with, $1) or starts_with($1, starts_with) order by k.id`,
    [beginning],
  );
  return rows;
}

/**
 * Revokes a key: it stops working within a second, in every process. A key that is revoked already keeps its time.
 * @param sellerId if given, only this seller's key is found
 * @returns when the key was revoked; undefined if there is no such key of this kind
 */
export async function revokeKey(db: DbClient, id: number, kind: KeyKind, sellerId?: string): Promise<Date | undefined> {
  const { rows } = await db.query<{ revokedAt: Date }>(
    `update api_key set revoked_at = coalesce(revoked_at, now()) where id = $1 and kind = $2
       and ($3::uuid is null or seller_id = $3)
     returning revoked_at as "revokedAt"`,
    [id, kind, sellerId],
  );
  return rows[0]?.revokedAt;
}
