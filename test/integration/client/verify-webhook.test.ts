import { Webhook } from 'standardwebhooks';
import { WebhookVerificationError, verifyWebhook } from '../../../src/client/index';
import { generateWebhookSecret, signWebhook } from '../../../src/webhooks/sign';
import { openOrder } from '../../support/orders';
import { startReceiver } from '../../support/receiver';
import { startStack } from '../../support/stack';
import { until } from '../../support/until';

const [secret, other] = [generateWebhookSecret(), generateWebhookSecret()];
const body = JSON.stringify({ type: 'order.status_changed', data: { sequence: 1 } });
const now = () => Math.floor(Date.now() / 1000);

function signed(changes: Record<string, string | undefined> = {}, timestamp = now(), secrets = [secret]) {
  return {
    'webhook-id': 'evt-1',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signWebhook(secrets, 'evt-1', timestamp, body),
    ...changes,
  };
}

test('a webhook really sent is verified and says what changed', async () => {
  const stack = await startStack();
  const receiver = await startReceiver();
  const order = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(() => receiver.deliveries.length === 1, 'it came');
  const { text, headers } = receiver.deliveries[0]!;
  const webhook = verifyWebhook(text, headers, stack.seller.webhookSecret);
  if (webhook.type !== 'order.status_changed') throw new Error('it is another kind');
  expect(webhook.id).toBe(headers['webhook-id']);
  expect(webhook.data.order.id).toBe(order);
  expect([webhook.data.previous_status, webhook.data.order.status]).toEqual(['CREATED', 'PENDING']);
  await receiver.stop();
  await stack.stop();
});

test('it agrees with the reference implementation', () => {
  const at = new Date();
  const headers = {
    'webhook-id': 'evt-2',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign('evt-2', at, body),
  };
  expect(verifyWebhook(body, headers, secret)).toEqual({ id: 'evt-2', ...JSON.parse(body) });
});

test('body and headers may be as Node or fetch have them', () => {
  const headers = signed();
  expect(verifyWebhook(Buffer.from(body), new Headers(headers), secret).id).toBe('evt-1');
  const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  expect(verifyWebhook(new Uint8Array(Buffer.from(body)), upper, secret).id).toBe('evt-1');
});

test('during a rotation either secret verifies, on either side', () => {
  expect(verifyWebhook(body, signed({}, now(), [other, secret]), secret).id).toBe('evt-1');
  expect(verifyWebhook(body, signed(), [other, secret]).id).toBe('evt-1');
});

const signature = signed()['webhook-signature'];
test.each([
  ['the secret is another', body, signed({}, now(), [other])],
  ['the body was changed', body.replace('1', '2'), signed()],
  ['the id was changed', body, signed({ 'webhook-id': 'evt-2' })],
  ['it is older than five minutes', body, signed({}, now() - 600)],
  ['it is from the future', body, signed({}, now() + 600)],
  ['the time was changed', body, signed({ 'webhook-timestamp': String(now() + 7) })],
  ['the time is no number', body, signed({ 'webhook-timestamp': 'now' })],
  ['the time is in milliseconds', body, signed({ 'webhook-timestamp': String(Date.now()) })],
  ['the signature is cut', body, signed({ 'webhook-signature': signature.slice(0, -1) })],
  ['the signature has no version', body, signed({ 'webhook-signature': signature.slice(3) })],
  ['the signature is empty', body, signed({ 'webhook-signature': '' })],
  ['a header is missing', body, signed({ 'webhook-id': undefined })],
])('it is refused where %s', (_, text, headers) => {
  expect(() => verifyWebhook(text, headers, secret)).toThrow(WebhookVerificationError);
});

test('a secret that is none is the mistake of the caller, and told as such', () => {
  expect(() => verifyWebhook(body, signed(), 'secret')).toThrow(TypeError);
});
