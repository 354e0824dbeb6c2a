import { createHmac, timingSafeEqual } from 'node:crypto';

/** The request is not a recent webhook of the order service: respond with 400. */
export class WebhookVerificationError extends Error {}

/**
 * Returns the webhook. `headers` are those of Node's request, `body` is the raw Buffer or text.
 * @throws WebhookVerificationError, or TypeError if the secret is empty or malformed: fix your configuration
 */
export function verifyWebhook(secret, headers, body) {
  const key = Buffer.from(String(secret).slice('whsec_'.length), 'base64');
  if (key.length < 24 || secret !== `whsec_${key.toString('base64')}`) {
    throw new TypeError('the webhook secret is empty or malformed');
  }
  const header = (name) => {
    const values = Object.entries(headers).flatMap(([given, value]) => (given.toLowerCase() === name ? value : []));
    // Node joins the values of a repeated header with a comma and a space.
    if (values.length !== 1 || typeof values[0] !== 'string' || !/^(?!.*, )[\x20-\x7e]+$/.test(values[0])) {
      throw new WebhookVerificationError(`the header ${name} is missing, repeated or not ASCII`);
    }
    return values[0];
  };
  const timestamp = header('webhook-timestamp');
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300)) {
    throw new WebhookVerificationError('the timestamp is not within five minutes of the current time');
  }
  const hmac = createHmac('sha256', key)
    .update(`${header('webhook-id')}.${timestamp}.`)
    .update(body);
  const expected = Buffer.from(`v1,${hmac.digest('base64')}`);
  const isExpected = (given) => given.length === expected.length && timingSafeEqual(Buffer.from(given), expected);
  if (!header('webhook-signature').split(' ').some(isExpected)) {
    throw new WebhookVerificationError('the signature does not match');
  }
  return JSON.parse(body);
}
