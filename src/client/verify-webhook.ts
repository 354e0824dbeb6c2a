import { timingSafeEqual } from 'node:crypto';
import type { OrderStatusChanged, WebhookTest } from '../contracts/webhook-schemas';
import { signWebhook } from '../webhooks/sign';
import { WebhookVerificationError } from './errors';

/** A receiver's clock, and the way, may take this long; an older webhook may be a replay. */
const TOLERANCE_SECONDS = 300;

export type Webhook = OrderStatusChanged | WebhookTest;
type HeaderValues = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Verifies a webhook (Standard Webhooks 1.0) and gives what it says. Handle each `webhook-id` once: it may come again.
 * @param body the exact bytes or text that came, before any parsing
 * @param headers of the request, as Node or `fetch` have them
 * @param secrets `whsec_…`; during a rotation the old and the new one
 * @throws WebhookVerificationError
 */
export function verifyWebhook(
  body: string | Uint8Array,
  headers: HeaderValues,
  secrets: string | readonly string[],
): Webhook & { id: string } {
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature').split(' ');
  if (!/^\d{1,11}$/.test(timestamp)) throw new WebhookVerificationError('webhook-timestamp is not in unix seconds');
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) {
    throw new WebhookVerificationError(`webhook-timestamp is more than ${TOLERANCE_SECONDS} s away from now`);
  }
  const text = typeof body === 'string' ? body : Buffer.from(body).toString();
  const expected = signWebhook([secrets].flat(), id, Number(timestamp), text).split(' ');
  if (!expected.some((one) => signatures.some((given) => isSame(one, given)))) {
    throw new WebhookVerificationError('no signature is right: is the secret, and is the body as it came?');
  }
  return { id, ...(JSON.parse(text) as Webhook) };
}

function headerOf(headers: HeaderValues, name: string): string {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
  if (typeof value !== 'string' || value === '') throw new WebhookVerificationError(`the header ${name} is missing`);
  return value;
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
