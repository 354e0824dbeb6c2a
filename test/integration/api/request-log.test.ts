import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { createCheckoutKey } from '../../../src/db/sellers';
import { httpProblems, httpRequests } from '../../../src/telemetry/metrics';
import { BASE } from '../../support/api';
import { type ApiServer, startApiWithoutTemporal, useApiWithoutTemporal } from '../../support/api-without-temporal';
import { parseRaw, sendRaw } from '../../support/raw-http';
import { until } from '../../support/until';

const SECOND = '/api/iwocapay/ecommerce';
const lines: Record<string, unknown>[] = [];
const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(JSON.parse(line)) });

const service = useApiWithoutTemporal({ API_BASE_PATHS: `${BASE},${SECOND}` }, log);

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
      path: `${BASE}/seller/${service.seller.id}/order/`,
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
    body: { data: { headers } },
  });
  await service.api.get(randomUUID(), { key: 'sk_private-key' });
  const text = JSON.stringify(lines);
  expect(text).not.toContain(service.seller.key);
  expect(text).not.toContain(service.seller.webhookSecret);
  expect(text).not.toContain('private-');
});

test('an id is logged in full only if it belongs to the caller: a wrong id may be a pay link', async () => {
  const id = randomUUID();
  expect(await logged((headers) => service.api.get(id, { headers }))).toMatchObject([
    { path: `${BASE}/order/${id.slice(0, 8)}…/`, status: 404 },
  ]);
});

test('the id of an order of the caller is logged in full if its change fails', async () => {
  const { id } = (await service.api.create()).body.data as { id: string };
  const made = await logged((headers) => service.api.call('DELETE', `${BASE}/order/${id}/`, { headers }));
  expect(made.filter(({ msg }) => msg === 'request')).toMatchObject([
    { path: `${BASE}/order/${id}/`, status: 503, order_id: id },
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

test.each([BASE, SECOND, SECOND.toUpperCase()])('no log line contains a pay link below %s', async (base) => {
  const payLinkId = randomUUID();
  for (const path of ['pay_link', 'PAY_LINK', 'Pay_Link']) {
    await logged((headers) => service.api.call('GET', `${base}/${path}/${payLinkId}/`, { headers, key: null }));
  }
  expect(lines.at(-1)).toMatchObject({ path: expect.stringContaining(`/${payLinkId.slice(0, 8)}…/`) });
  expect(JSON.stringify(lines)).not.toContain(payLinkId);
});

const linesOf = (requestId: string) => lines.filter(({ request_id }) => request_id === requestId);

describe('a request that is answered before Koa sees it', () => {
  test.each([
    ['an unsupported Expect header', 'Host: x\r\nExpect: foo'],
    ['no Host header', 'X-Other: private-header'],
    ['too many headers', `Host: x${'\r\na: b'.repeat(200)}`],
  ])("has the caller's id in its response and in one log line, which has no pay link: %s", async (_, headers) => {
    const [requestId, payLinkId] = [randomUUID(), randomUUID()];
    const path = `/pay/${payLinkId}/`;
    const head = `GET ${path}?token=private-query HTTP/1.1\r\nX-Request-Id: ${requestId}\r\n${headers}\r\n\r\n`;
    const { status, body } = parseRaw(await sendRaw(service.server.url, head));
    expect([body.instance, body.request_id]).toEqual([path, requestId]);
    expect(linesOf(requestId)).toMatchObject([
      { level: 30, msg: 'request', method: 'GET', path: `/pay/${payLinkId.slice(0, 8)}…/`, status },
    ]);
    for (const secret of [payLinkId, 'private-']) expect(JSON.stringify(linesOf(requestId))).not.toContain(secret);
  });

  test.each([
    ['is not HTTP', 'hello\r\n\r\n', 400],
    ['has too large headers', `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ])('has the id of its log line in the response, and is counted, if it %s', async (_, text, status) => {
    const counts = async () =>
      Promise.all(
        [httpRequests, httpProblems].map(async (counter) => {
          const { values } = await counter.get();
          return values.filter(({ labels }) => labels.status === status).reduce((sum, { value }) => sum + value, 0);
        }),
      );
    const [requests, problems] = await counts();
    const { body } = parseRaw(await sendRaw(service.server.url, text));
    expect(body).toMatchObject({ status, instance: '/' });
    expect(linesOf(body.request_id)).toMatchObject([{ level: 30, msg: 'request', path: '/', status }]);
    expect(await counts()).toEqual([requests! + 1, problems! + 1]);
  });
});

describe('a request that is refused because it is late', () => {
  let hasty: ApiServer;
  beforeAll(async () => {
    const env = { DATABASE_URL: service.database.url, HEADERS_TIMEOUT_MS: '2000', REQUEST_TIMEOUT_MS: '2000' };
    hasty = await startApiWithoutTemporal(env, log);
  });
  afterAll(() => hasty.stop());

  test.each([
    ['a client that sends an id', `X-Request-Id: ${randomUUID()}\r\n`],
    ['a client that sends none', ''],
  ])('has one id in its response and in one log line, if only its body is late: %s', async (_, given) => {
    const path = `${BASE}/seller/${service.seller.id}/order/`;
    const head =
      `POST ${path}?a=b HTTP/1.1\r\nHost: x\r\n${given}Authorization: Bearer ${service.seller.key}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{';
    const { body } = parseRaw(await sendRaw(hasty.url, head));
    expect(body).toMatchObject({ code: 'request_timeout', instance: path });
    if (given !== '') expect(given).toContain(body.request_id);
    await until(() => linesOf(body.request_id).length > 0, 'the request is logged');
    expect(linesOf(body.request_id)).toMatchObject([
      { msg: 'request', path, status: 408, seller_id: service.seller.id },
    ]);
  });

  test('writes a log line if its headers are late, and none if nothing was sent', async () => {
    const idOf = async (...chunks: string[]) => parseRaw(await sendRaw(hasty.url, ...chunks)).body.request_id;
    expect(linesOf(await idOf('GET / HTTP/1.1\r\nX-Slow: '))).toMatchObject([{ path: '/', status: 408 }]);
    expect(linesOf(await idOf())).toEqual([]);
  });
});
