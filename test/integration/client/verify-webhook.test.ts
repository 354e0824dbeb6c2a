import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { WebhookVerificationError, verifyWebhook } from '../../../packages/client/src/index';
import { generateWebhookSecret, signWebhook } from '../../../src/webhooks/sign';
import { openOrder } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { useSharedStack } from '../../support/shared-stack';
import { until } from '../../support/until';

const stack = useSharedStack();
const receiver = useReceiver();

const [secret, other] = [generateWebhookSecret(), generateWebhookSecret()];
const body = JSON.stringify({ type: 'order.status_changed', data: { sequence: 1 } });
const now = () => Math.floor(Date.now() / 1000);

const inFullWidth = (number: number) => String(number).replace(/\d/g, (digit) => String.fromCharCode(0xff10 + +digit));

function signed(changes: Record<string, string | string[] | undefined> = {}, timestamp = now(), secrets = [secret]) {
  return {
    'webhook-id': 'evt-1',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signWebhook(secrets, 'evt-1', timestamp, body),
    ...changes,
  };
}

test('verifyWebhook returns the content of a webhook that the service sent', async () => {
  const order = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(() => receiver.deliveries.length === 1, 'the webhook arrives');
  const { text, headers } = receiver.deliveries[0]!;
  const webhook = verifyWebhook(text, headers, stack.seller.webhookSecret);
  if (webhook.type !== 'order.status_changed') throw new Error('expected order.status_changed');
  expect(webhook.id).toBe(headers['webhook-id']);
  expect(webhook.data.order.id).toBe(order);
  expect([webhook.data.previous_status, webhook.data.order.status]).toEqual(['CREATED', 'PENDING']);
});

test('verifyWebhook accepts signatures of the reference implementation', () => {
  const at = new Date();
  const headers = {
    'webhook-id': 'evt-2',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign('evt-2', at, body),
  };
  expect(verifyWebhook(body, headers, secret)).toEqual({ id: 'evt-2', ...JSON.parse(body) });
});

test('verifyWebhook returns the webhook-id as `id`, even if the body has a field of that name', () => {
  const withId = '{"type":"webhook.test","id":"another","data":{}}';
  const timestamp = now();
  const signature = signWebhook([secret], 'evt-1', timestamp, withId);
  const headers = signed({ 'webhook-signature': signature }, timestamp);
  expect(verifyWebhook(withId, headers, secret).id).toBe('evt-1');
});

test('verifyWebhook accepts body and headers from Node and from fetch', () => {
  const headers = signed();
  expect(verifyWebhook(Buffer.from(body), new Headers(headers), secret).id).toBe('evt-1');
  const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  expect(verifyWebhook(new Uint8Array(Buffer.from(body)), upper, secret).id).toBe('evt-1');
});

test('verifyWebhook accepts either secret during a rotation, from either side', () => {
  expect(verifyWebhook(body, signed({}, now(), [other, secret]), secret).id).toBe('evt-1');
  expect(verifyWebhook(body, signed(), [other, secret]).id).toBe('evt-1');
});

const signature = signed()['webhook-signature'];
test.each([
  ['the secret is a different one', body, signed({}, now(), [other])],
  ['the body was changed', body.replace('1', '2'), signed()],
  ['the id was changed', body, signed({ 'webhook-id': 'evt-2' })],
  ['the webhook is older than five minutes', body, signed({}, now() - 600)],
  ['the webhook is from the future', body, signed({}, now() + 600)],
  ['the timestamp was changed', body, signed({ 'webhook-timestamp': String(now() + 7) })],
  ['the timestamp is not a number', body, signed({ 'webhook-timestamp': 'now' })],
  ['the timestamp is in milliseconds', body, signed({ 'webhook-timestamp': String(Date.now()) })],
  ['the signature is truncated', body, signed({ 'webhook-signature': signature.slice(0, -1) })],
  ['the signature has no version', body, signed({ 'webhook-signature': signature.slice(3) })],
  ['the signature is empty', body, signed({ 'webhook-signature': '' })],
  ['a header is missing', body, signed({ 'webhook-id': undefined })],
  ['a header is repeated', body, signed({ 'webhook-signature': [signature, signature] })],
  ['a header is repeated in another case', body, signed({ 'Webhook-Signature': signature })],
  ['Node has joined a repeated header', body, signed({ 'webhook-signature': `${signature}, ${signature}` })],
  ['fetch has joined a repeated header', body, new Headers([...Object.entries(signed()), ['webhook-id', 'evt-1']])],
  ['a header is not ASCII', body, signed({ 'webhook-signature': `${signature} v1,é` })],
  ['the timestamp has digits that are not ASCII', body, signed({ 'webhook-timestamp': inFullWidth(now()) })],
])('verifyWebhook rejects a webhook if %s', (_, text, headers) => {
  expect(() => verifyWebhook(text, headers, secret)).toThrow(WebhookVerificationError);
});

test.each(['', 'whsec_', 'whsec_***', 'whsec_AA==', 'secret', undefined as unknown as string])(
  'verifyWebhook throws a TypeError if the secret is %p, so that nobody can sign with the empty key',
  (malformed) => {
    const timestamp = now();
    const forged = createHmac('sha256', '').update(`evt-1.${timestamp}.${body}`).digest('base64');
    expect(() => verifyWebhook(body, signed({ 'webhook-signature': `v1,${forged}` }, timestamp), malformed)).toThrow(
      TypeError,
    );
  },
);

test('verifyWebhook throws a RangeError if there is no secret', () => {
  expect(() => verifyWebhook(body, signed(), [])).toThrow(RangeError);
});
