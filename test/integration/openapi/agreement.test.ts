import { randomUUID } from 'node:crypto';
import type { Router } from '@koa/router';
import { createApp } from '../../../src/api/app';
import type { OrderDependencies } from '../../../src/orders/dependencies';
import { createRateLimits } from '../../../src/api/rate-limit';
import { type ApiResponse, BASE, order } from '../../support/api';
import { type DocumentedOperation, document, misfits, operations } from '../../support/contract';
import { openOrder } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { sendRaw } from '../../support/raw-http';
import { useSharedStack } from '../../support/shared-stack';
import { log } from '../../support/stack';
import { until } from '../../support/until';

/** Every response that `api.call` gets is held to the document; here each operation is called, and each error met. */
const stack = useSharedStack();
const receiver = useReceiver();

test('the document has exactly the operations that the service routes', () => {
  const rules = { maxAmountPence: 1, httpsOnly: false, checkWebhookUrl: () => undefined };
  const app = createApp({
    api: { basePaths: [BASE] },
    deps: { rules, db: stack.db } as Partial<OrderDependencies> as OrderDependencies,
    limits: createRateLimits({ windowMs: 1000, address: 1, key: 1, checkoutKey: 1, payLink: 1 }),
    trustedProxies: 0,
    maxBodyBytes: 65_536,
    responseHmacHeader: undefined,
    log,
    health: { checkDatabase: () => Promise.resolve('ok'), isServing: () => true },
    checkout: undefined,
    portal: undefined,
  });
  const routers = app.middleware.flatMap((one) => ('router' in one ? [one.router as Router] : []));
  const served = routers
    .flatMap(({ stack: layers }) => layers)
    .flatMap(({ methods, path }) =>
      methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${String(path)}`),
    )
    // The documentation and the health checks are not part of the sellers' API.
    .filter((route) => !/^GET \/($|docs|health|llms\.txt|openapi\.json)/.test(route))
    .map((route) => route.replace(/:\w+/g, '{}'));
  const documented = operations.map(
    ({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '{}').replace(/\/$/, '')}`,
  );
  expect(documented.sort()).toEqual(served.sort());
});

test('/openapi.json returns the document', async () => {
  const { body } = await stack.api.call('GET', '/openapi.json', { key: null });
  expect(body).toEqual(JSON.parse(JSON.stringify(document)));
});

/** The values of path parameters. */
interface Ids {
  order_id: string;
  pay_link_id: string;
  webhook_id: string;
}
const NOBODY: Ids = { order_id: randomUUID(), pay_link_id: randomUUID(), webhook_id: randomUUID() };

function pathOf({ path }: DocumentedOperation, ids: Ids): string {
  const values: Record<string, string> = { supplier_uuid: stack.seller.id, ...ids };
  return path.replace(/\{(\w+)\}/g, (_whole, name: string) => values[name]!);
}

/** The required query parameters, with their examples. */
function queryOf({ operation }: DocumentedOperation): string {
  const required = operation.parameters.filter((one: any) => one.in === 'query' && one.required === true);
  return required.map(({ name, schema }: any) => `?${name}=${schema.examples[0]}`).join('');
}

function keyOf({ operation }: DocumentedOperation): string | null {
  const [scheme] = operation.security.flatMap((one: object) => Object.keys(one));
  return scheme === undefined ? null : scheme === 'checkoutKey' ? stack.api.checkoutKey : stack.seller.key;
}

const call = (
  one: DocumentedOperation,
  ids: Ids,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<ApiResponse> =>
  stack.api.call(one.method, pathOf(one, ids) + queryOf(one), { key: keyOf(one), headers, body });

/** The examples of an operation's body, or only undefined if it takes no body. */
function bodiesOf({ operation }: DocumentedOperation): unknown[] {
  const content = operation.requestBody?.content['application/json'];
  return content ? Object.values<any>(content.examples).map(({ value }) => value) : [undefined];
}

/** Creates an order in CREATED, and another one that has a webhook event. */
async function existingIds(): Promise<Ids> {
  const [order_id, other] = [
    await openOrder(stack),
    await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']),
  ];
  const events = `${BASE}/seller/${stack.seller.id}/webhook_event/`;
  const { body } = await stack.api.call('GET', events);
  const { pay_link_id } = (await stack.api.get(order_id)).body.data;
  return { order_id, pay_link_id, webhook_id: body.data.find((event: any) => event.order_id === other).id };
}

const successes = operations.flatMap((one) => bodiesOf(one).map((body, place) => ({ one, body, place })));
const named = successes.map(
  ({ one, body, place }) => [`${one.operation.operationId} ${place + 1}`, one, body] as const,
);

test.each(named)('the example %s of the document is accepted', async (_name, one, body) => {
  const ids = await existingIds();
  // The resend of many of the example before may still be running.
  const response = await until(async () => {
    const answer = await call(one, ids, body);
    return answer.body?.code === 'resend_in_progress' ? undefined : answer;
  }, 'the call is possible');
  expect([response.status, response.text]).toEqual([expect.any(Number), expect.stringContaining('{')]);
  expect(response.status).toBeLessThan(300);
});

const keyed = operations.filter(({ operation }) => operation.security.length > 0);
const byId = keyed.map((one) => [one.operation.operationId as string, one] as const);

test.each(byId)('%s returns 401 and 404 as documented', async (_name, one) => {
  const path = pathOf(one, NOBODY);
  const [body] = bodiesOf(one);
  for (const key of [null, 'sk_unknown']) {
    expect((await stack.api.call(one.method, path, { key, body })).status).toBe(401);
  }
  const stranger = path.replace(stack.seller.id, randomUUID());
  expect((await stack.api.call(one.method, stranger, { key: keyOf(one), body })).status).toBe(404);
});

const withBody = byId.filter(([, { operation }]) => operation.requestBody);

test.each(withBody)('%s returns 400, 413, 415 and 422 as documented', async (_name, one) => {
  const ids = await existingIds();
  const status = async (body: string, headers = {}) => (await call(one, ids, body, headers)).status;
  expect(await status('{')).toBe(400);
  expect(await status(JSON.stringify({ data: 'x'.repeat(70_000) }))).toBe(413);
  expect(await status('a=1', { 'Content-Type': 'text/plain' })).toBe(415);
  expect(await status('{"data":{"amont":1}}')).toBe(422);
});

const withQuery = byId.filter(([, { operation }]) => operation.parameters.some((one: any) => one.in === 'query'));

test.each(withQuery)('%s returns 422 if the query does not match the document', async (_name, one) => {
  const path = pathOf(one, await existingIds());
  for (const query of ['limit=0', 'limit=101', 'cursor=x', 'unknown=1', 'limit=1&limit=2']) {
    expect([query, (await stack.api.call('GET', `${path}?${query}`)).status]).toEqual([query, 422]);
  }
});

test('a create call returns its own errors as documented, and a replay has its header', async () => {
  const { api } = stack;
  const data = order();
  const headers = { 'Idempotency-Key': randomUUID() };
  await api.create(data, { headers });
  const replay = await api.create(data, { headers });
  expect([replay.status, replay.headers.get('Idempotency-Replayed')]).toEqual([201, 'true']);
  expect((await api.create(order(), { headers })).body.code).toBe('idempotency_key_reused');
  expect((await api.create(data)).body.code).toBe('duplicate_reference');
  expect((await api.create({}, { headers: { 'Idempotency-Key': 'two words' } })).body.code).toBe(
    'invalid_idempotency_key',
  );
});

test('a refused change returns its error as documented', async () => {
  const id = await openOrder(stack, {}, ['signup_started', 'approved', 'completed']);
  expect((await stack.api.cancel(id)).body.code).toBe('order_not_cancellable');
  expect((await stack.api.progress(id, 'declined')).body.code).toBe('transition_not_allowed');
});

test("a request that Node's parser refuses gets the status that is documented, without a body", async () => {
  for (const [head, status] of [
    ['GET /health/live HTTP/1.1\r\nHost : x\r\n\r\n', '400'],
    [`GET /health/live HTTP/1.1\r\nX: ${'x'.repeat(80_000)}\r\n\r\n`, '431'],
  ] as const) {
    const [headers = '', body] = (await sendRaw(stack.api.url, head)).split('\r\n\r\n');
    expect([headers.split(' ')[1], body]).toEqual([status, '']);
    expect(Object.keys(document.paths?.[`${BASE}/order/{order_id}/`]?.get?.responses ?? {})).toContain(status);
  }
});

test('every webhook that the service sends matches the document', async () => {
  await openOrder(stack, { webhook_url: receiver.url, source: 'plugin', meta_data: { a: [1] } }, [
    'signup_started',
    'failed',
  ]);
  await stack.api.call('POST', `${BASE}/seller/${stack.seller.id}/webhook_test/`, {
    body: { data: { url: receiver.url } },
  });
  const ofType = (type: string) => receiver.deliveries.filter(({ body }) => body.type === type);
  await until(
    () => ofType('order.status_changed').some(({ body }) => body.data.order.status === 'UNSUCCESSFUL'),
    'the last webhook arrives',
  );
  expect(ofType('webhook.test')).not.toHaveLength(0);
  for (const { body, headers } of receiver.deliveries) {
    const place = ['webhooks', body.type as string, 'post'];
    expect(misfits([...place, 'requestBody', 'content', 'application/json', 'schema'], body)).toEqual([]);
    const { parameters } = document.webhooks![body.type as string]!.post as any;
    for (const [index, { name, required }] of parameters.entries()) {
      if (!required && headers[name.toLowerCase()] === undefined) continue;
      const schema = [...place, 'parameters', String(index), 'schema'];
      expect([name, misfits(schema, headers[name.toLowerCase()])]).toEqual([name, []]);
    }
  }
});
