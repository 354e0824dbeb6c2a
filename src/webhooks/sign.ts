import { createHmac, randomBytes } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';

/** Milliseconds passed for seconds would only show at the receiver, as a signature from the far future. */
const LATEST_PLAUSIBLE_SECONDS = 100_000_000_000;

/**
 * The `webhook-signature` header: one `v1,<base64>` entry a live secret, so that a receiver verifies with the old or
 * the new secret during a rotation.
 *
 * @param timestamp unix seconds of this attempt, as sent in `webhook-timestamp`
 * @throws TypeError for a malformed secret, without naming it; RangeError for no secrets or a timestamp not in seconds
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md (1.0)
 */
export function signWebhook(secrets: readonly string[], id: string, timestamp: number, body: string): string {
  if (secrets.length === 0) throw new RangeError('a webhook needs a secret to be signed with');
  if (!Number.isInteger(timestamp) || timestamp < 0 || timestamp > LATEST_PLAUSIBLE_SECONDS) {
    throw new RangeError('a webhook timestamp is in whole unix seconds');
  }
  const signed = `${id}.${timestamp}.${body}`;
  return secrets
    .map((secret) => `v1,${createHmac('sha256', signingKey(secret)).update(signed).digest('base64')}`)
    .join(' ');
}

/** A new secret: `whsec_` and 32 random bytes in base64 (the specification allows 24 to 64). */
export function generateWebhookSecret(): string {
  return SECRET_PREFIX + randomBytes(32).toString('base64');
}

function signingKey(secret: string): Buffer {
  const encoded = secret.slice(SECRET_PREFIX.length);
  const key = Buffer.from(encoded, 'base64');
  // Node drops what is not base64 without a word, and would sign with a key that the receiver does not have.
  const sound = secret.startsWith(SECRET_PREFIX) && key.toString('base64') === encoded;
  if (!sound || key.length < 24 || key.length > 64) {
    throw new TypeError('a webhook secret is whsec_ and 24 to 64 bytes in base64');
  }
  return key;
}
