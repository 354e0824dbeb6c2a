import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { freePort } from '../../../tools/local-stack/ports';
import {
  type ClientOptions,
  ConnectionError,
  OrderServiceError,
  createClient,
} from '../../../packages/client/src/index';
import { loadConfig } from '../../../src/config';
import { apiOf } from '../../support/api';
import { openOrder } from '../../support/orders';
import { type Fault, startHttpProxy } from '../../support/http-proxy';
import { useReceiver } from '../../support/receiver';
import { useSharedStack } from '../../support/shared-stack';
import { createSeller, type TestSeller } from '../../support/stack';
import { until } from '../../support/until';
import { useResource } from '../../support/use-resource';

const stack = useSharedStack();
const receiver = useReceiver();
const proxy = useResource(
  () => startHttpProxy(stack.api.url),
  (started) => started.stop(),
);
let seller: TestSeller;
beforeEach(async () => {
  seller = await createSeller(stack.db, undefined, { sandbox: true });
  proxy.failNext();
  proxy.requests.length = 0;
});

const clientOf = (options: Partial<ClientOptions> = {}) =>
  createClient({ baseUrl: proxy.url, apiKey: seller.key, sellerId: seller.id, ...options });
const newOrder = () => ({ amount: 1234.5, reference: randomUUID(), redirect_url: 'https://shop.example/thanks?a=1' });

const respondWith =
  (status: number, headers: Record<string, string> = {}, body = ''): Fault =>
  (incoming, response) => {
    incoming.resume();
    response.writeHead(status, headers).end(body);
  };

async function errorOf(call: Promise<unknown>): Promise<OrderServiceError> {
  const error: unknown = await call.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(OrderServiceError);
  return error as OrderServiceError;
}

test('the client creates, retrieves, lists and cancels an order, and reads its timeline', async () => {
  const client = clientOf({ baseUrl: `${proxy.url}//?` });
  const given = newOrder();
  const created = await client.create(given);
  expect(created).toMatchObject({ amount: 1234.5, reference: given.reference, status: 'CREATED' });
  const order = await client.retrieve(created.id);
  expect(order.redirect_url).toBe(`https://shop.example/thanks?a=1&orderId=${created.id}`);
  const cancelled = await client.cancel(created.id);
  expect([cancelled.status, typeof cancelled.cancelled_at]).toEqual(['UNSUCCESSFUL', 'string']);
  expect(await client.cancel(created.id)).toEqual(cancelled);
  expect((await client.list({ status: 'UNSUCCESSFUL' })).data).toMatchObject([{ id: created.id }]);
  expect((await client.list({ status: 'CREATED' })).data).toEqual([]);
  const { data, next_cursor } = await client.timeline(created.id);
  expect(data.map((entry) => entry.type === 'change' && entry.event)).toEqual(['created', 'cancel']);
  expect(next_cursor).toBeNull();
});

test('listAll requests pages only as far as the iteration goes', async () => {
  const client = clientOf();
  const ids: string[] = [];
  for (let count = 0; count < 5; count++) ids.unshift((await client.create(newOrder())).id);
  proxy.requests.length = 0;
  const seen: string[] = [];
  for await (const { id } of client.listAll({ limit: 2 })) seen.push(id);
  expect(seen).toEqual(ids);
  expect(proxy.requests).toHaveLength(3);
  for await (const { id } of client.listAll({ limit: 2 })) if (id === ids[1]) break;
  expect(proxy.requests).toHaveLength(4);
});

test('the client lists, resends and tests webhooks, and rotates their secret', async () => {
  const client = createClient({ baseUrl: proxy.url, apiKey: stack.seller.key, sellerId: stack.seller.id });
  const order = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(() => receiver.deliveries.length === 1, 'the webhook arrives');
  const webhook = (await client.listWebhooks({ limit: 1 })).data[0]!;
  expect(webhook).toMatchObject({ order_id: order, sequence: 1 });
  expect((await client.resendWebhook(webhook.id)).id).toBe(webhook.id);
  await until(() => receiver.deliveries.length === 2, 'the webhook arrives again');
  expect(await client.testWebhook(receiver.url)).toMatchObject({ delivered: true, status: 200 });
  const { webhook_secret, previous_valid_until } = await client.rotateWebhookSecret({ overlapSeconds: 60 });
  expect(webhook_secret).toMatch(/^whsec_/);
  expect(Date.parse(previous_valid_until!)).toBeGreaterThan(Date.now());
});

test('the client resends all webhooks of a state or since a time, and sets static headers', async () => {
  const client = clientOf();
  const { origin } = new URL(receiver.url);
  const headers = { origin, headers: [{ name: 'X-Gateway', value: 'open' }] };
  expect(await client.setWebhookHeaders(headers)).toEqual({ origin, names: ['x-gateway'] });
  expect(await client.testWebhook(receiver.url)).toMatchObject({ delivered: true, static_headers: true });
  expect(receiver.deliveries.at(-1)!.headers['x-gateway']).toBe('open');

  const api = apiOf(stack.api.url, seller, stack.api.checkoutKey);
  await openOrder({ ...stack, api }, { webhook_url: receiver.url }, ['failed']);
  const delivered = async () => (await client.listWebhooks({ state: 'delivered' })).data[0];
  const webhook = await until(delivered, 'the webhook is delivered');
  const before = receiver.deliveries.length;
  const since = { created_from: webhook.created_at };
  expect(await client.resendWebhooks(since)).toMatchObject({ state: null, created_from: webhook.created_at });
  await until(() => receiver.deliveries.length > before, 'the webhook arrives again');
  await stack.client.workflow.getHandle(`resend-webhooks-${seller.id}`).result();
  const exhausted = await client.resendWebhooks({ state: 'exhausted' });
  expect(exhausted).toMatchObject({ state: 'exhausted', created_from: null });
  expect((await errorOf(client.resendWebhooks({}))).errors[0]!.detail).toBe(
    'must have state, order_id or created_from',
  );
});

test("the client sets the account's webhook endpoint, and makes links to the seller's page", async () => {
  const client = clientOf();
  const replaced = { url: 'http://127.0.0.1:9/', replaces: ['https://old-shop.example'] };
  expect(await client.setWebhookEndpoint(replaced)).toMatchObject(replaced);
  expect(await client.retrieveWebhookEndpoint()).toMatchObject(replaced);
  expect(await client.setWebhookEndpoint({ url: null })).toMatchObject({ url: null, replaces: [] });
  const link = await client.createPortalSession({ user: 'Ada' });
  expect(link).toMatchObject({
    user: 'Ada',
    read_only: false,
    url: expect.stringMatching(/\/portal\/link\/[\w-]{43}\/$/),
  });
});

test('repaymentExample returns the instalments of an amount, as of a float', async () => {
  const example = await clientOf().repaymentExample(0.1 + 0.2);
  expect(example.amount).toBe(0.3);
  expect(example.instalments.length).toBeGreaterThan(0);
  expect((await errorOf(clientOf().repaymentExample(0))).code).toBe('invalid_request');
});

test('checkConnection checks that the key belongs to the seller', async () => {
  expect(await clientOf().checkConnection()).toMatchObject({ seller_id: seller.id });
  expect((await errorOf(clientOf({ sellerId: randomUUID() }).checkConnection())).code).toBe('not_found');
  expect((await errorOf(clientOf({ apiKey: 'sk_wrong' }).checkConnection())).code).toBe('unauthorized');
});

test('a replayed create sets `replayed`, and shows the order as it was created', async () => {
  const [given, options] = [newOrder(), { idempotencyKey: 'attempt-1' }];
  const { id, replayed } = await clientOf().create(given, options);
  await clientOf().cancel(id);
  const again = await clientOf().create(given, options);
  expect([replayed, again.replayed, again.status]).toEqual([false, true, 'CREATED']);
  expect((await clientOf().retrieve(again.id)).status).toBe('UNSUCCESSFUL');
  expect((await errorOf(clientOf().create(newOrder(), options))).code).toBe('idempotency_key_reused');
  const next = await clientOf().create(given, { idempotencyKey: 'attempt-2' });
  expect(next).toMatchObject({ replayed: false, reference: given.reference });
  expect(next.id).not.toBe(id);
});

describe('OrderServiceError', () => {
  test('names the code, every invalid field and the request id', async () => {
    const error = await errorOf(clientOf().create({ ...newOrder(), amount: 0, reference: '' }));
    expect(error).toMatchObject({ name: 'OrderServiceError', status: 422, code: 'invalid_request' });
    expect(error.errors.map(({ pointer }) => pointer)).toEqual(['/data/amount', '/data/reference']);
    expect(error.message).toBe(`422 invalid_request: ${error.problem?.detail} (request ${error.requestId})`);
    expect(error.requestId).toMatch(/^[\w-]{36}$/);
    expect(proxy.requests).toHaveLength(1);
  });

  test('of a duplicate reference names the existing order', async () => {
    const given = newOrder();
    const { id, order_url } = await clientOf().create(given);
    const error = await errorOf(clientOf().create(given));
    expect(error).toMatchObject({ code: 'duplicate_reference', orderId: id, orderUrl: order_url });
    expect([error.orderStatus, error.orderAmount]).toEqual(['CREATED', given.amount]);
  });

  test('has the code unexpected_response if a proxy responds instead of the service', async () => {
    proxy.failNext(respondWith(403, { 'Content-Type': 'text/html' }, '<h1>Forbidden</h1>'));
    const error = await errorOf(clientOf().create(newOrder()));
    expect(error).toMatchObject({ status: 403, code: 'unexpected_response', problem: undefined, errors: [] });
    expect(error.message).toBe('403 unexpected_response: The response is not from the order service.');
  });

  test.each(['{}', 'null', '{"data":null}', '{"status":"maintenance"}'])(
    'has the code unexpected_response if a proxy responds with 200 and %s',
    async (body) => {
      proxy.failNext(respondWith(200, { 'Content-Type': 'application/json' }, body));
      const error = await errorOf(clientOf().create(newOrder()));
      expect(error).toMatchObject({ status: 200, code: 'unexpected_response' });
    },
  );

  test('is thrown for a redirect, which is not followed, so that the key reaches no other host', async () => {
    proxy.failNext(respondWith(302, { Location: `${proxy.url}/elsewhere` }));
    expect((await errorOf(clientOf().retrieve(randomUUID()))).status).toBe(302);
    expect(proxy.requests).toHaveLength(1);
  });
});

describe('a mistake in the calling code throws before any request, without showing the key', () => {
  test.each<[string, object, { idempotencyKey?: string }, RegExp]>([
    ['an amount that JSON cannot represent', { amount: 12n }, {}, /BigInt/],
    ['an Idempotency-Key with characters that a header cannot have', {}, { idempotencyKey: 'кошик-1' }, /ByteString/],
    ['an Idempotency-Key with a line break', {}, { idempotencyKey: 'cart\n1' }, /invalid header value/],
  ])('for %s', async (_, fields, options, message) => {
    const call = clientOf().create({ ...newOrder(), ...fields }, options);
    const error: unknown = await call.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'TypeError', message: expect.stringMatching(message) });
    expect(inspect(error)).not.toContain(seller.key);
    expect(proxy.requests).toEqual([]);
  });

  test('a negative timeout throws a RangeError before any request', async () => {
    await expect(clientOf({ timeoutMs: -1 }).list()).rejects.toMatchObject({ name: 'RangeError' });
    expect(proxy.requests).toEqual([]);
  });

  test.each([
    '',
    'orders.example',
    'ftp://orders.example',
    'https://me:hunter2@orders.example',
    'https://a.example/?b',
  ])('for the baseUrl %j', (baseUrl) => {
    const message = 'baseUrl must be an http(s) URL such as https://orders.example';
    expect(() => clientOf({ baseUrl })).toThrow(new TypeError(message));
  });

  test.each(['apiKey', 'sellerId'])('for a missing or empty %s', (name) => {
    for (const value of ['', undefined]) {
      expect(() => clientOf({ [name]: value as string })).toThrow(new TypeError(`${name} is missing`));
    }
  });

  test.each([
    ['sellerId', 'my shop'],
    ['apiKey', 'sk_1\n'],
    ['apiKey', 'sk_ключ'],
  ])('for the %s %j', (name, value) => {
    const message = `${name} must be printable ASCII without spaces; the operator of the service issues it`;
    expect(() => clientOf({ [name]: value })).toThrow(new TypeError(message));
  });
});

test('the default timeout is longer than the service needs to respond with 503', async () => {
  const timeout = jest.spyOn(AbortSignal, 'timeout');
  await clientOf().list();
  const { updateTimeoutMs, webhookTimeoutMs } = loadConfig({
    DATABASE_URL: stack.databaseUrl,
    CHECKOUT_BASE_URL: 'https://checkout.example',
  });
  const STATEMENT_TIMEOUT_MS = 5000;
  const waited = timeout.mock.calls[0]![0];
  timeout.mockRestore();
  expect(waited).toBeGreaterThan(updateTimeoutMs + STATEMENT_TIMEOUT_MS);
  expect(waited).toBeGreaterThan(webhookTimeoutMs + STATEMENT_TIMEOUT_MS);
});

describe('after a temporary failure', () => {
  test('a create whose response was lost is retried, and creates one order', async () => {
    proxy.failNext('lose the response', 'lose the response');
    const { id } = await clientOf().create(newOrder());
    expect(proxy.requests).toHaveLength(3);
    expect((await clientOf().list()).data.map((order) => order.id)).toEqual([id]);
  });

  test('a cancel whose response was lost is retried', async () => {
    const { id } = await clientOf().create(newOrder());
    proxy.failNext('lose the response');
    expect((await clientOf().cancel(id)).status).toBe('UNSUCCESSFUL');
  });

  test.each([408, 429, 500, 520, 529])('a create is retried after a %i of a proxy', async (status) => {
    proxy.failNext(respondWith(status, { 'Content-Type': 'text/html' }, '<h1>Try again</h1>'));
    const { id } = await clientOf().create(newOrder());
    expect(proxy.requests).toHaveLength(2);
    expect((await clientOf().list()).data.map((order) => order.id)).toEqual([id]);
  });

  test('the last error is thrown when all retries fail', async () => {
    proxy.failNext(respondWith(502), respondWith(502), respondWith(502));
    expect((await errorOf(clientOf({ maxRetries: 2 }).create(newOrder()))).status).toBe(502);
    expect(proxy.requests).toHaveLength(3);
    proxy.failNext('lose the response');
    await expect(clientOf({ maxRetries: 0 }).create(newOrder())).rejects.toBeInstanceOf(ConnectionError);
  });

  test('a call that is not idempotent is retried only if the service did nothing', async () => {
    proxy.failNext('lose the response');
    await expect(clientOf().rotateWebhookSecret()).rejects.toBeInstanceOf(ConnectionError);
    proxy.failNext(respondWith(503));
    expect((await errorOf(clientOf().rotateWebhookSecret())).status).toBe(503);
    expect(proxy.requests).toHaveLength(2);
    proxy.failNext(respondWith(429, {}, JSON.stringify({ code: 'rate_limited', request_id: '1', detail: 'x' })));
    await clientOf().rotateWebhookSecret();
    expect(proxy.requests).toHaveLength(4);
  });

  test('an attempt without a response ends at its timeout', async () => {
    proxy.failNext(() => undefined);
    const call = clientOf({ timeoutMs: 200, maxRetries: 0 }).retrieve(randomUUID());
    await expect(call).rejects.toThrow(/^no response from http:\/\/127\.0\.0\.1:\d+ within 200 ms$/);
    const baseUrl = `http://127.0.0.1:${await freePort()}`;
    const unreachable = clientOf({ baseUrl, maxRetries: 1 }).retrieve(randomUUID());
    await expect(unreachable).rejects.toThrow(`no response from the order service at ${baseUrl} (ECONNREFUSED)`);
  });
});
