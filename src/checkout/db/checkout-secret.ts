import { randomBytes } from 'node:crypto';
import type { KeyRing } from '../../encryption/key-ring';
import type { DbClient } from '../../db/pool';

/** The context in which the secret is encrypted. */
export const CHECKOUT_CONTEXT = 'checkout';
const SECRET_BYTES = 32;

/**
 * Returns the secret that signs the checkout's forms, the same in all API processes. The first call creates it.
 * @throws DecryptionError
 */
export async function findCheckoutSecret(db: DbClient, keys: KeyRing): Promise<string> {
  const created = keys.encryptText(randomBytes(SECRET_BYTES).toString('base64url'), CHECKOUT_CONTEXT);
  await db.query('insert into checkout_secret (secret) values ($1) on conflict do nothing', [created]);
  const { rows } = await db.query<{ secret: string }>('select secret from checkout_secret');
  return keys.decryptText(rows[0]?.secret ?? created, CHECKOUT_CONTEXT);
}
