import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { createCheckoutKey } from '../../support/keys';
import { BASE } from '../../support/api';
import { useApiWithoutTemporal } from '../../support/api-without-temporal';

const lines: Record<string, unknown>[] = [];
const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(JSON.parse(line)) });

const service = useApiWithoutTemporal({}, log);

/** The log lines of the request that `make` sends, without those about changes of orders. */
async function logged(make: (headers: Record<string, string>) => Promise<unknown>) {
  const requestId = randomUUID();
  await make({ 'X-Request-Id': requestId });
  return lines.filter(({ request_id, event }) => request_id === requestId && event === undefined);
}

test('a request writes one log line with its method, path, status, order and seller', async () => {
  let id = '';
  const created = await logged(async (headers) => {
    id = (await service.api.create({}, { headers })).body.data.id;
  });
  expect(created).toEqual([
    expect.objectContaining({
      msg: 'request',
      method: 'POST',
      path: `${BASE}/seller/${service.seller.id.slice(0, 8)}…/order/`,
      status: 201,
      duration_ms: expect.any(Number),
      order_id: id,
      seller_id: service.seller.id,
    }),
  ]);
  const read = await logged((headers) => service.api.get(id, { headers }));
  expect(read).toMatchObject([{ method: 'GET', status: 200, order_id: id, seller_id: service.seller.id }]);
});

test('a successful health check is logged at debug level', async () => {
  const healthy = await logged((headers) => service.api.call('GET', '/health/live', { headers }));
  expect(healthy).toMatchObject([{ level: 20, path: '/health/live', status: 200 }]);
  const unknown = await logged((headers) => service.api.call('GET', '/health/other', { headers }));
  expect(unknown).toMatchObject([{ level: 30, path: '/health/other', status: 404 }]);
});

test('a refused request writes one log line', async () => {
  const noKey = await logged((headers) => service.api.create({}, { headers, key: null }));
  expect(noKey).toMatchObject([{ status: 401 }]);
  expect(noKey[0]).not.toHaveProperty('seller_id');
  expect(await logged((headers) => service.api.create({ amount: -1 }, { headers }))).toMatchObject([{ status: 422 }]);
  expect(await logged((headers) => service.api.call('GET', '/nothing', { headers }))).toMatchObject([{ status: 404 }]);
});

test('the log line of a request has the trace id of its traceparent, if that is valid', async () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const traced = (traceparent: string) =>
    logged((headers) => service.api.call('GET', '/health/live', { headers: { ...headers, traceparent } }));
  expect(await traced(`00-${trace}-00f067aa0ba902b7-01`)).toMatchObject([{ trace_id: trace }]);
  for (const broken of [
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `00-${trace.toUpperCase()}-00f067aa0ba902b7-01`,
    `ff-${trace}-00f067aa0ba902b7-01`,
    'nonsense',
  ]) {
    expect((await traced(broken))[0]).not.toHaveProperty('trace_id');
  }
});

test('no log line contains a key, a body, a query or an Idempotency-Key', async () => {
  const body = { reference: 'private-reference', meta_data: { card: 'private-meta' } };
  await service.api.create(body, { headers: { 'Idempotency-Key': 'private-idem', 'X-Other': 'private-header' } });
  await service.api.create({ ...body, amount: 'private-amount' });
  await service.api.call('GET', '/nothing?token=private-query');
  const headers = [{ name: 'Authorization', value: 'private-gateway' }];
  await service.api.call('PUT', `${BASE}/seller/${service.seller.id}/webhook_headers/`, {
    body: { data: { origin: 'https://shop.example', headers } },
  });
  await service.api.get(randomUUID(), { key: 'sk_private-key' });
  const text = JSON.stringify(lines);
  expect(text).not.toContain(service.seller.key);
  expect(text).not.toContain(service.seller.webhookSecret);
  expect(text).not.toContain('private-');
});

test('the id in a path is shortened, because a wrong one may be a pay link', async () => {
  const id = randomUUID();
  expect(await logged((headers) => service.api.get(id, { headers }))).toMatchObject([
    { path: `${BASE}/order/${id.slice(0, 8)}…/`, status: 404 },
  ]);
});

test('the log line of a change that fails has the id of the order', async () => {
  const { id } = (await service.api.create()).body.data as { id: string };
  const made = await logged((headers) => service.api.call('DELETE', `${BASE}/order/${id}/`, { headers }));
  expect(made.filter(({ msg }) => msg === 'request')).toMatchObject([
    { path: `${BASE}/order/${id.slice(0, 8)}…/`, status: 503, order_id: id },
  ]);
});

test('the pay link of an order is not logged if it is used as an id, whatever the response is', async () => {
  const { order_url: url } = (await service.api.create()).body.data as { order_url: string };
  const payLinkId = /[\da-f-]{36}/.exec(url)![0];
  const key = await createCheckoutKey(service.database.db);
  const statuses = [
    (await service.api.get(payLinkId)).status,
    (await service.api.get(payLinkId, { key: null })).status,
    (await service.api.call('POST', `${BASE}/order/${payLinkId}/progress/`, { key, body: { data: {} } })).status,
    (await service.api.call('PUT', `${BASE}/order/${payLinkId}/`)).status,
  ];
  expect(statuses).toEqual([404, 401, 422, 405]);
  expect(JSON.stringify(lines)).not.toContain(payLinkId);
});

test('the secret of a link to the seller’s page and the cookie of its session are not logged', async () => {
  const [link, cookie] = ['Link_Secret-9'.repeat(4).slice(0, 43), 'Cookie_Secret-7'.repeat(4).slice(0, 43)];
  const lineOf = (method: string) =>
    logged(async (headers) => {
      const url = `${service.api.url}/portal/link/${link}/`;
      expect(
        (await fetch(url, { method, headers: { ...headers, Cookie: `portal=${cookie}` } })).status,
      ).toBeGreaterThan(400);
    });
  for (const method of ['GET', 'POST'])
    expect(await lineOf(method)).toMatchObject([{ path: '/portal/link/Link_Sec…/' }]);
  expect(JSON.stringify(lines)).not.toContain(link);
  expect(JSON.stringify(lines)).not.toContain(cookie);
});
