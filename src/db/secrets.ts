import { randomBytes } from 'node:crypto';
import { type KeyRing, keyIdOf } from '../encryption/key-ring';
import { type Db, type DbClient, inTransaction } from './pool';

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

/** Headers that a seller's webhooks to one origin carry. */
export interface StaticHeaders {
  origin: string;
  /** By lower-case name. */
  headers: Record<string, string>;
}

/** The context in which the static headers of a seller are encrypted. */
const headersContext = (sellerId: string): string => `webhook_headers:${sellerId}`;

/** Replaces the static headers of a seller's webhooks. */
export async function setStaticHeaders(
  db: DbClient,
  keys: KeyRing,
  sellerId: string,
  staticHeaders: StaticHeaders,
): Promise<void> {
  const encrypted = keys.encryptText(JSON.stringify(staticHeaders), headersContext(sellerId));
  await db.query('update seller set webhook_headers = $2 where id = $1', [sellerId, encrypted]);
}

/** What a receiver recognizes a seller's webhooks by: the secrets that sign now, newest first, and the headers. */
interface Credentials {
  secrets: string[];
  staticHeaders: StaticHeaders | undefined;
}

export interface EncryptedCredentials {
  encryptedSecrets: string[];
  encryptedHeaders: string | null;
}

/** SQL: the columns of the encrypted credentials of `seller`. */
export const credentialsOf = (seller: string): string =>
  `array(select secret from webhook_secret where seller_id = ${seller} and (expires_at is null or expires_at > now())
     order by id desc) as "encryptedSecrets",
   (select webhook_headers from seller where id = ${seller}) as "encryptedHeaders"`;

/** @throws DecryptionError */
export function decryptCredentials(
  keys: KeyRing,
  sellerId: string,
  { encryptedSecrets, encryptedHeaders }: EncryptedCredentials,
): Credentials {
  const decryptHeaders = (text: string) =>
    JSON.parse(keys.decryptText(text, headersContext(sellerId))) as StaticHeaders;
  return {
    secrets: encryptedSecrets.map((secret) => keys.decryptText(secret, sellerId)),
    staticHeaders: encryptedHeaders === null ? undefined : decryptHeaders(encryptedHeaders),
  };
}

/** @throws DecryptionError */
export async function findCredentials(db: DbClient, keys: KeyRing, sellerId: string): Promise<Credentials> {
  const { rows } = await db.query<EncryptedCredentials>(`select ${credentialsOf('$1::uuid')}`, [sellerId]);
  return decryptCredentials(keys, sellerId, rows[0] ?? { encryptedSecrets: [], encryptedHeaders: null });
}

/** SQL: when older secrets end at the latest. */
const END_OF_OVERLAP = "now() + $2 * interval '1 ms'";

/** The maximum number of active secrets per seller: each one lengthens the signature header. */
export const MAX_ACTIVE_SECRETS = 5;

type Rotation =
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
       from (select expires_at, least(expires_at, ${END_OF_OVERLAP}) as until from webhook_secret
         where seller_id = $1) older
       where until > now()`,
      [sellerId, overlapMs],
    );
    const older = rows[0];
    if (older && older.active >= MAX_ACTIVE_SECRETS) return { kind: 'too_many', possibleAt: older.first };
    await client.query(
      `update webhook_secret set expires_at = least(expires_at, ${END_OF_OVERLAP}) where seller_id = $1`,
      [sellerId, overlapMs],
    );
    await insertWebhookSecret(client, keys, sellerId, secret);
    return { kind: 'rotated', previousValidUntil: older?.until ?? null };
  });
}

/**
 * Returns a function that reads a secret, which is the same in all processes, and remembers it. The first read creates it.
 * It throws a DecryptionError.
 * @param name also the context in which it is encrypted
 */
export function createServiceSecret(db: DbClient, keys: KeyRing, name: string): () => Promise<string> {
  let known: string | undefined;
  return async () => {
    if (known !== undefined) return known;
    const created = keys.encryptText(randomBytes(32).toString('base64url'), name);
    await db.query('insert into service_secret (name, secret) values ($1, $2) on conflict do nothing', [name, created]);
    const { rows } = await db.query<{ secret: string }>('select secret from service_secret where name = $1', [name]);
    return (known = keys.decryptText(rows[0]?.secret ?? created, name));
  };
}

/** SQL: every secret, where it is, and the context in which it is encrypted. */
const ALL_SECRETS = `select 'webhook_secret' as place, id::text, seller_id::text as context, secret from webhook_secret
  union all select 'service_secret', name, name, secret from service_secret
  union all select 'webhook_headers', id::text, '${headersContext('')}' || id, webhook_headers from seller
    where webhook_headers is not null`;

/** How many secrets are encrypted with each key. The key's id is null for secrets that are not encrypted. */
export async function countSecretsByKey(db: DbClient): Promise<{ keyId: string | null; secrets: number }[]> {
  const { rows } = await db.query<{ secret: string }>(ALL_SECRETS);
  const counts = new Map<string | null, number>();
  for (const { secret } of rows) {
    const keyId = keyIdOf(secret) ?? null;
    counts.set(keyId, (counts.get(keyId) ?? 0) + 1);
  }
  return [...counts].map(([keyId, secrets]) => ({ keyId, secrets }));
}

/** Encrypted from the text $2: what was deleted or replaced in the meantime is left alone. */
const UPDATES = {
  webhook_secret: 'update webhook_secret set secret = $3 where id = $1 and secret = $2',
  service_secret: 'update service_secret set secret = $3 where name = $1 and secret = $2',
  webhook_headers: 'update seller set webhook_headers = $3 where id = $1 and webhook_headers = $2',
};

/**
 * Encrypts every secret with the first key.
 * @returns how many were encrypted with another key, or not at all
 * @throws DecryptionError: nothing has changed
 */
export async function encryptSecretsAgain(db: Db, keys: KeyRing): Promise<number> {
  return inTransaction(db, async (client) => {
    const { rows } = await client.query<{ place: keyof typeof UPDATES; id: string; context: string; secret: string }>(
      ALL_SECRETS,
    );
    const old = rows.filter(({ secret }) => keyIdOf(secret) !== keys.firstKey);
    for (const { place, id, context, secret } of old) {
      await client.query(UPDATES[place], [id, secret, keys.encryptText(keys.decryptText(secret, context), context)]);
    }
    return old.length;
  });
}
