import { type ApiResponse, BASE } from '../../support/api';
import { type DocumentedOperation, document, misfits, operations } from '../../support/contract';
import { openOrder } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { apiRoutes } from '../../support/routes';
import { useSharedStack } from '../../support/shared-stack';
import { until } from '../../support/until';

/** Every response that `api.call` gets is held to the document; here each operation is called, and each error met. */
const stack = useSharedStack();
const receiver = useReceiver();

test('the document has exactly the operations that the service routes', () => {
  const served = apiRoutes()
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
