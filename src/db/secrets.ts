import { randomBytes } from 'node:crypto';
import { type KeyRing, keyIdOf } from '../encryption/key-ring';
import { inMs } from './clock';
import { type Db, type DbClient, inTransaction } from './pool';

const SERVICE_SECRET_BYTES = 32;

/** Stores a webhook secret, encrypted in the context of its seller, so that it cannot be moved to another seller. */
export async function insertWebhookSecret(
  db: DbClient,
  keys: KeyRing,
  sellerId: string,
  secret: string,
): Promise<void> {
  const encrypted = keys.encryptText(secret, sellerId);
  await db.query('insert into webhook_secret (seller_id, secret) values ($1, $2)', [sellerId, encrypted]);
}

/** SQL: the secrets that currently sign the webhooks of `seller`, encrypted, newest first. */
export const activeSecretsOf = (seller: string): string =>
  `array(select secret from webhook_secret
     where seller_id = ${seller} and (expires_at is null or expires_at > now()) order by id desc)`;

/** @throws DecryptionError */
export const decryptSecrets = (keys: KeyRing, sellerId: string, encrypted: readonly string[]): string[] =>
  encrypted.map((secret) => keys.decryptText(secret, sellerId));

/**
 * Lists the secrets that currently sign a seller's webhooks, newest first.
 * @throws DecryptionError
 */
export async function activeWebhookSecrets(db: DbClient, keys: KeyRing, sellerId: string): Promise<string[]> {
  const { rows } = await db.query<{ encrypted: string[] }>(`select ${activeSecretsOf('$1')} as encrypted`, [sellerId]);
  return decryptSecrets(keys, sellerId, rows[0]?.encrypted ?? []);
}

/** The maximum number of active secrets per seller: each one lengthens the signature header. */
export const MAX_ACTIVE_SECRETS = 5;

export type Rotation =
  /** `previousValidUntil`: when the last older secret expires; null if there is none. */
  | { kind: 'rotated'; previousValidUntil: Date | null }
  /** The seller would have too many active secrets until `possibleAt`, when the next one expires. */
  | { kind: 'too_many'; possibleAt: Date };

/**
 * Adds a webhook secret. Older secrets continue to sign for at most `overlapMs`, so that the receiver can change to the
 * new one. None of them ends earlier to make room: a rotation that would leave too many active secrets changes nothing.
 * @returns undefined if the seller does not exist
 */
export async function rotateWebhookSecret(
  db: Db,
  keys: KeyRing,
  sellerId: string,
  secret: string,
  overlapMs: number,
): Promise<Rotation | undefined> {
  return inTransaction(db, async (client) => {
    // The lock serializes concurrent rotations, and does not block new orders, which refer to the seller.
    const { rowCount: exists } = await client.query('select from seller where id = $1 for no key update', [sellerId]);
    if (!exists) return undefined;
    const { rows } = await client.query<{ active: number; until: Date | null; first: Date }>(
      `select count(*)::integer as active, max(until) as until, min(expires_at) as first
       from (select expires_at, least(expires_at, ${inMs('$2')}) as until from webhook_secret
         where seller_id = $1) older
       where until > now()`,
      [sellerId, overlapMs],
    );
    const older = rows[0];
    if (older && older.active >= MAX_ACTIVE_SECRETS) return { kind: 'too_many', possibleAt: older.first };
    await client.query(`update webhook_secret set expires_at = least(expires_at, ${inMs('$2')}) where seller_id = $1`, [
      sellerId,
      overlapMs,
    ]);
    await insertWebhookSecret(client, keys, sellerId, secret);
    return { kind: 'rotated', previousValidUntil: older?.until ?? null };
  });
}

/** Deletes secrets that no longer sign. */
export async function deleteExpiredSecrets(db: DbClient): Promise<void> {
  await db.query('delete from webhook_secret where expires_at <= now()');
}

/**
 * Returns a secret that is the same in all processes. The first call creates it.
 * @param name also the context in which it is encrypted
 * @throws DecryptionError
 */
export async function findServiceSecret(db: DbClient, keys: KeyRing, name: string): Promise<string> {
  const created = keys.encryptText(randomBytes(SERVICE_SECRET_BYTES).toString('base64url'), name);
  await db.query('insert into service_secret (name, secret) values ($1, $2) on conflict do nothing', [name, created]);
  const { rows } = await db.query<{ secret: string }>('select secret from service_secret where name = $1', [name]);
  return keys.decryptText(rows[0]?.secret ?? created, name);
}

/** How many secrets are encrypted with each key. The key's id is null for secrets that are not encrypted. */
export async function countSecretsByKey(db: DbClient): Promise<{ keyId: string | null; secrets: number }[]> {
  const { rows } = await db.query<{ secret: string }>(
    'select secret from webhook_secret union all select secret from service_secret',
  );
  const counts = new Map<string | null, number>();
  for (const { secret } of rows) {
    const keyId = keyIdOf(secret) ?? null;
    counts.set(keyId, (counts.get(keyId) ?? 0) + 1);
  }
  return [...counts].map(([keyId, secrets]) => ({ keyId, secrets }));
}

/**
 * Encrypts every secret with the first key.
 * @returns how many were encrypted with another key, or not at all
 * @throws DecryptionError: nothing has changed
 */
export async function encryptSecretsAgain(db: Db, keys: KeyRing): Promise<number> {
  return inTransaction(db, async (client) => {
    const { rows } = await client.query<{ id: string | null; context: string; secret: string }>(
      `select id, seller_id::text as context, secret from webhook_secret
       union all select null, name, secret from service_secret`,
    );
    const old = rows.filter(({ secret }) => keyIdOf(secret) !== keys.firstKey);
    for (const { id, context, secret } of old) {
      const encrypted = keys.encryptText(keys.decryptText(secret, context), context);
      // Encrypted from this text: a secret that was deleted or replaced in the meantime is left alone.
      if (id === null)
        await client.query('update service_secret set secret = $2 where secret = $1', [secret, encrypted]);
      else await client.query('update webhook_secret set secret = $2 where id = $1', [id, encrypted]);
    }
    return old.length;
  });
}
