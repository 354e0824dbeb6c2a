import { createHmac, timingSafeEqual } from 'node:crypto';
import { WebhookVerificationError } from './client-errors';
import type { OrderStatusChanged, WebhookTest } from './contract-types';

/** Allows for network delay and clock differences. An older webhook may be a replay attack. */
const TOLERANCE_SECONDS = 300;

/**
 * The types of webhooks that this version knows. Later versions of the service may send others: compare `type`, and
 * respond to any other with 2xx.
 */
export type Webhook = OrderStatusChanged | WebhookTest;
/** What `fetch` has. Not its global type, because not every shop compiles with that. */
interface FetchHeaders {
  get: (name: string) => string | null;
}
type NodeHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Verifies a webhook (Standard Webhooks 1.0) and parses it. Process each `id` once: deliveries can repeat. Do not apply
 * a status whose `data.sequence` is not higher than the order's highest: a resend can arrive after a newer webhook.
 * @param body the raw request body, before any parsing
 * @param headers the request headers, from Node or `fetch`
 * @param secrets `whsec_…`; during a rotation, both the old and the new one
 * @throws WebhookVerificationError if the webhook is not valid, or a header is missing, repeated or not ASCII: respond
 * with 400
 * @throws TypeError if a secret is malformed, or RangeError if there is none: fix your configuration
 */
export function verifyWebhook(
  body: string | Uint8Array,
  headers: NodeHeaders | FetchHeaders,
  secrets: string | readonly string[],
): Webhook & { id: string } {
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature').split(' ');
  if (!/^\d{1,11}$/.test(timestamp)) throw new WebhookVerificationError('webhook-timestamp is not in Unix seconds');
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) {
    throw new WebhookVerificationError(
      `webhook-timestamp differs from the current time by more than ${TOLERANCE_SECONDS} s`,
    );
  }
  const text = typeof body === 'string' ? body : Buffer.from(body).toString();
  const keys = [secrets].flat().map(keyOf);
  if (keys.length === 0) throw new RangeError('verifying a webhook requires a secret');
  const signed = `${id}.${Number(timestamp)}.${text}`;
  const expected = keys.map((key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  if (!expected.some((signature) => signatures.some((given) => isSame(signature, given)))) {
    throw new WebhookVerificationError('no signature matches: check the secret, and pass the raw request body');
  }
  return { ...(JSON.parse(text) as Webhook), id };
}

/** @throws TypeError that does not repeat the secret */
function keyOf(secret: string): Buffer {
  const [, encoded = ''] = /^whsec_(.+)$/.exec(secret) ?? [];
  const key = Buffer.from(encoded, 'base64');
  // Node ignores characters that are not base64.
  if (key.toString('base64') !== encoded || key.length < 24 || key.length > 64)
    throw new TypeError('a webhook secret must be whsec_ followed by 24 to 64 bytes in base64');
  return key;
}

function headerOf(headers: NodeHeaders | FetchHeaders, name: string): string {
  const [value, ...others] = isFromFetch(headers)
    ? [headers.get(name)]
    : Object.entries(headers).flatMap(([given, values]) => (given.toLowerCase() === name ? values : []));
  // Node and `fetch` join the values of a repeated header with a comma and a space.
  if (typeof value !== 'string' || others.length > 0 || !/^(?!.*, )[\x20-\x7e]+$/.test(value)) {
    throw new WebhookVerificationError(`the header ${name} is missing, repeated or not ASCII`);
  }
  return value;
}

function isFromFetch(headers: NodeHeaders | FetchHeaders): headers is FetchHeaders {
  return typeof headers.get === 'function';
}

function isSame(first: string, second: string): boolean {
  const [a, b] = [Buffer.from(first), Buffer.from(second)];
  return a.length === b.length && timingSafeEqual(a, b);
}
