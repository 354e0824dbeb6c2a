import { createHmac, randomBytes } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';

/**
 * Returns the `webhook-signature` header: one `v1,<base64>` entry per active secret, so that a receiver can verify with
 * either secret during a rotation.
 *
 * @param timestamp Unix seconds of this attempt, as sent in `webhook-timestamp`
 * @throws TypeError for a malformed secret, without repeating it; RangeError without secrets
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md (1.0)
 */
export function signWebhook(secrets: readonly string[], id: string, timestamp: number, body: string): string {
  if (secrets.length === 0) throw new RangeError('signing a webhook requires a secret');
  const signed = `${id}.${timestamp}.${body}`;
  return secrets
    .map((secret) => `v1,${createHmac('sha256', signingKey(secret)).update(signed).digest('base64')}`)
    .join(' ');
}

/** The headers of an attempt, apart from those of HTTP itself. */
export function webhookHeaders(id: string, timestamp: number, signature: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    // Some firewalls block requests without it.
    accept: '*/*',
    // The response is logged as it arrives.
    'accept-encoding': 'identity',
    'user-agent': 'order-service-webhooks/1',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signature,
  };
}

/** A new secret: `whsec_` and 32 random bytes in base64 (the specification allows 24 to 64). */
export function generateWebhookSecret(): string {
  return SECRET_PREFIX + randomBytes(32).toString('base64');
}

function signingKey(secret: string): Buffer {
  const encoded = secret.slice(SECRET_PREFIX.length);
  const key = Buffer.from(encoded, 'base64');
  // Node ignores characters that are not base64, which would sign with a key that the receiver does not have.
  const wellFormed = secret.startsWith(SECRET_PREFIX) && key.toString('base64') === encoded;
  if (!wellFormed || key.length < 24 || key.length > 64) {
    throw new TypeError('a webhook secret must be whsec_ followed by 24 to 64 bytes in base64');
  }
  return key;
}
