import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { freePort } from '../../../tools/local-stack/ports';
import type { ClientOptions } from '../../../src/client/index';
import { ConnectionError, OrderServiceError, createClient } from '../../../src/client/index';
import { loadConfig } from '../../../src/config';
import { openOrder } from '../../support/orders';
import type { Fault, HttpProxy } from '../../support/http-proxy';
import { startHttpProxy } from '../../support/http-proxy';
import { startReceiver } from '../../support/receiver';
import type { Stack, TestSeller } from '../../support/stack';
import { createSeller, startStack } from '../../support/stack';
import { until } from '../../support/until';

let stack: Stack;
let proxy: HttpProxy;
let seller: TestSeller;
beforeAll(async () => {
  stack = await startStack();
  proxy = await startHttpProxy(stack.api.url);
});
afterAll(async () => {
  await proxy.stop();
  await stack.stop();
});
beforeEach(async () => {
  seller = await createSeller(stack.db);
  proxy.failNext();
  proxy.requests.length = 0;
});

const clientOf = (options: Partial<ClientOptions> = {}) =>
  createClient({ baseUrl: proxy.url, apiKey: seller.key, sellerId: seller.id, ...options });
const newOrder = () => ({ amount: 1234.5, reference: randomUUID(), redirect_url: 'https://shop.example/thanks?a=1' });

const answerWith =
  (status: number, headers: Record<string, string> = {}, body = ''): Fault =>
  (incoming, response) => {
    incoming.resume();
    response.writeHead(status, headers).end(body);
  };
const rateLimited = (seconds: string) =>
  answerWith(429, { 'Retry-After': seconds }, JSON.stringify({ code: 'rate_limited', request_id: '1', detail: 'x' }));

async function failureOf(call: Promise<unknown>): Promise<OrderServiceError> {
  const error: unknown = await call.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(OrderServiceError);
  return error as OrderServiceError;
}

test('an order is created, retrieved, listed and cancelled, and its timeline read', async () => {
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

test('all orders are read page after page, only as far as they are asked for', async () => {
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

test('webhooks are listed, resent and tested, and their secret is rotated', async () => {
  const receiver = await startReceiver();
  const client = createClient({ baseUrl: proxy.url, apiKey: stack.seller.key, sellerId: stack.seller.id });
  const order = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(() => receiver.deliveries.length === 1, 'the webhook came');
  const webhook = (await client.listWebhooks({ limit: 1 })).data[0]!;
  expect(webhook).toMatchObject({ order_id: order, sequence: 1 });
  expect((await client.resendWebhook(webhook.id)).id).toBe(webhook.id);
  await until(() => receiver.deliveries.length === 2, 'it came again');
  expect(await client.testWebhook(receiver.url)).toMatchObject({ delivered: true, status: 200 });
  const { webhook_secret, previous_valid_until } = await client.rotateWebhookSecret({ overlapSeconds: 60 });
  expect(webhook_secret).toMatch(/^whsec_/);
  expect(Date.parse(previous_valid_until!)).toBeGreaterThan(Date.now());
  await receiver.stop();
});

test('key and seller are checked', async () => {
  expect(await clientOf().checkConnection()).toMatchObject({ seller_id: seller.id });
  expect((await failureOf(clientOf({ sellerId: randomUUID() }).checkConnection())).code).toBe('not_found');
  expect((await failureOf(clientOf({ apiKey: 'sk_wrong' }).checkConnection())).code).toBe('unauthorized');
});

test('a replay says that it is one: the order may have come to an end since', async () => {
  const [given, options] = [newOrder(), { idempotencyKey: 'attempt-1' }];
  const { id, replayed } = await clientOf().create(given, options);
  await clientOf().cancel(id);
  const again = await clientOf().create(given, options);
  expect([replayed, again.replayed, again.status]).toEqual([false, true, 'CREATED']);
  expect((await clientOf().retrieve(again.id)).status).toBe('UNSUCCESSFUL');
  const next = await clientOf().create(given, { idempotencyKey: 'attempt-2' });
  expect(next).toMatchObject({ replayed: false, reference: given.reference });
  expect(next.id).not.toBe(id);
});

describe('a refusal', () => {
  test('names every failing field, the code and the request', async () => {
    const error = await failureOf(clientOf().create({ ...newOrder(), amount: 0, reference: '' }));
    expect(error).toMatchObject({ name: 'OrderServiceError', status: 422, code: 'invalid_request' });
    expect(error.errors.map(({ pointer }) => pointer)).toEqual(['/data/amount', '/data/reference']);
    expect(error.message).toBe(error.problem?.detail);
    expect(error.requestId).toMatch(/^[\w-]{36}$/);
    expect(proxy.requests).toHaveLength(1);
  });

  test('of a reference that is taken names the order that holds it', async () => {
    const given = newOrder();
    const { id, order_url } = await clientOf().create(given);
    const error = await failureOf(clientOf().create(given));
    expect(error).toMatchObject({ code: 'duplicate_reference', orderId: id, orderUrl: order_url });
    expect([error.orderStatus, error.orderAmount]).toEqual(['CREATED', given.amount]);
  });

  test('from somewhere in between is told as such', async () => {
    proxy.failNext(answerWith(403, { 'Content-Type': 'text/html' }, '<h1>Forbidden</h1>'));
    const error = await failureOf(clientOf().create(newOrder()));
    expect(error).toMatchObject({ status: 403, code: 'unexpected_answer', problem: undefined, errors: [] });
  });

  test('by way of a redirect is not followed: the key is for nobody else', async () => {
    proxy.failNext(answerWith(302, { Location: `${proxy.url}/elsewhere` }));
    expect((await failureOf(clientOf().retrieve(randomUUID()))).status).toBe(302);
    expect(proxy.requests).toHaveLength(1);
  });
});

describe('a mistake in the calling code is thrown as what it is, without a call and without the key:', () => {
  const circular: Record<string, unknown> = {};
  circular.self = circular;

  test.each<[string, object, { idempotencyKey?: string }, RegExp]>([
    ['an amount that JSON does not have', { amount: 12n }, {}, /BigInt/],
    ['meta_data that hold themselves', { meta_data: circular }, {}, /circular/],
    ['an Idempotency-Key that no header holds', {}, { idempotencyKey: 'кошик-1' }, /ByteString/],
    ['an Idempotency-Key of two lines', {}, { idempotencyKey: 'cart\n1' }, /invalid header value/],
  ])('%s', async (_, fields, options, message) => {
    const call = clientOf().create({ ...newOrder(), ...fields }, options);
    const error: unknown = await call.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'TypeError', message: expect.stringMatching(message) });
    expect(inspect(error)).not.toContain(seller.key);
    expect(proxy.requests).toEqual([]);
  });

  test('a timeout that is none', async () => {
    await expect(clientOf({ timeoutMs: -1 }).list()).rejects.toMatchObject({ name: 'RangeError' });
    expect(proxy.requests).toEqual([]);
  });

  test.each([
    '',
    'orders.example',
    'ftp://orders.example',
    'https://me:hunter2@orders.example',
    'https://a.example/?b',
  ])('the baseUrl %j', (baseUrl) => {
    const told = 'baseUrl must be an http(s) URL such as https://orders.example';
    expect(() => clientOf({ baseUrl })).toThrow(new TypeError(told));
  });

  test.each(['', 'sk_ 1', 'sk_1\n', 'sk_ключ'])('the apiKey %j', (apiKey) => {
    expect(() => clientOf({ apiKey })).toThrow(new TypeError('apiKey must be printable ASCII without blanks'));
  });
});

test('the client waits for longer than the service takes: its 503 is heard, and what it says', async () => {
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

describe('trouble that passes:', () => {
  test('a create whose answer was lost is made again, and is one order', async () => {
    proxy.failNext('lose the answer', 'lose the answer');
    const { id } = await clientOf().create(newOrder());
    expect(proxy.requests).toHaveLength(3);
    expect((await clientOf().list()).data.map((order) => order.id)).toEqual([id]);
  });

  test("a shop's own key makes a create one order across its restarts", async () => {
    const [given, options] = [newOrder(), { idempotencyKey: 'purchase-1' }];
    const first = await clientOf().create(given, options);
    expect(first.replayed).toBe(false);
    expect(await clientOf().create(given, options)).toEqual({ ...first, replayed: true });
    const error = await failureOf(clientOf().create(newOrder(), options));
    expect(error.code).toBe('idempotency_key_reused');
  });

  test('a cancel whose answer was lost is made again', async () => {
    const { id } = await clientOf().create(newOrder());
    proxy.failNext('lose the answer');
    expect((await clientOf().cancel(id)).status).toBe('UNSUCCESSFUL');
  });

  test('what Retry-After asks for is waited for', async () => {
    proxy.failNext(rateLimited('1'), answerWith(503, { 'Retry-After': '1' }));
    const start = performance.now();
    await clientOf().create(newOrder());
    expect(performance.now() - start).toBeGreaterThanOrEqual(1990);
    expect(proxy.requests).toHaveLength(3);
  });

  test('a wait that is too long is told at once', async () => {
    proxy.failNext(rateLimited('3600'));
    expect(await failureOf(clientOf().create(newOrder()))).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(proxy.requests).toHaveLength(1);
  });

  test('it is told where it does not pass', async () => {
    proxy.failNext(answerWith(502), answerWith(502), answerWith(502));
    expect((await failureOf(clientOf({ maxRetries: 2 }).create(newOrder()))).status).toBe(502);
    expect(proxy.requests).toHaveLength(3);
    proxy.failNext('lose the answer');
    await expect(clientOf({ maxRetries: 0 }).create(newOrder())).rejects.toBeInstanceOf(ConnectionError);
  });

  test('what would be done twice is not made again, unless nothing was done', async () => {
    proxy.failNext('lose the answer');
    await expect(clientOf().rotateWebhookSecret()).rejects.toBeInstanceOf(ConnectionError);
    proxy.failNext(answerWith(503));
    expect((await failureOf(clientOf().rotateWebhookSecret())).status).toBe(503);
    expect(proxy.requests).toHaveLength(2);
    proxy.failNext(rateLimited('1'));
    await clientOf().rotateWebhookSecret();
    expect(proxy.requests).toHaveLength(4);
  });

  test('an attempt that gets no answer ends in time', async () => {
    proxy.failNext(() => undefined);
    const call = clientOf({ timeoutMs: 200, maxRetries: 0 }).retrieve(randomUUID());
    await expect(call).rejects.toThrow('no answer within 200 ms');
    const nowhere = clientOf({ baseUrl: `http://127.0.0.1:${await freePort()}`, maxRetries: 1 });
    await expect(nowhere.retrieve(randomUUID())).rejects.toThrow('the order service cannot be reached');
  });
});
