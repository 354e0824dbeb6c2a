import { createHmac, randomUUID } from 'node:crypto';
import { type ApiResponse, BASE, order } from '../../support/api';
import { expectProblem } from '../../support/problems';
import { useSharedStack } from '../../support/shared-stack';
import { useApi } from '../../support/with-api';

const SECOND = '/api/iwocapay/ecommerce';
const HEADER = 'X-Shop-Signature';
const stack = useSharedStack();
const service = useApi(stack, { API_BASE_PATHS: `${BASE},${SECOND}`, RESPONSE_HMAC_HEADER: HEADER });
const seller = (base: string): string => `${base}/seller/${stack.seller.id}`;
const signatureOf = (text: string, key = stack.seller.key): string =>
  createHmac('sha256', key).update(text).digest('base64');

/** Calls a path below the second base path, and expects the response to be signed. */
async function signed(method: string, path: string, body?: unknown): Promise<ApiResponse> {
  const response = await service.api.call(method, SECOND + path, { body });
  expect(response.headers.get(HEADER)).toBe(signatureOf(response.text));
  return response;
}

test('an order is created, retrieved, listed and cancelled below the second base path, with signed responses', async () => {
  const data = order();
  const created = await signed('POST', `/seller/${stack.seller.id}/order/`, { data });
  expect([created.status, created.body.data.reference]).toEqual([201, data.reference]);
  const { id } = created.body.data;
  expect(created.headers.get('Location')).toBe(`${SECOND}/order/${id}/`);

  const retrieved = await signed('GET', `/order/${id}/`);
  expect([retrieved.status, retrieved.body.data.status]).toEqual([200, 'CREATED']);
  const list = await signed('GET', `/seller/${stack.seller.id}/order/?limit=1`);
  expect([list.status, list.body.data[0].id, list.body.next_cursor]).toEqual([200, id, null]);

  const cancelled = await signed('DELETE', `/seller/${stack.seller.id}/order/${id}/`);
  expect([cancelled.status, cancelled.body.data.status]).toEqual([200, 'UNSUCCESSFUL']);
  expect((await signed('GET', `/order/${id}/timeline/`)).body.data.map(({ event }: any) => event)).toEqual([
    'created',
    'cancel',
  ]);
  // The prefix is only a way to the same order.
  expect((await service.api.get(id)).body).toEqual((await signed('GET', `/order/${id}/`)).body);
});

test('an Idempotency-Key is the same below all base paths, and Location has the base path of the request', async () => {
  const [headers, body] = [{ 'Idempotency-Key': randomUUID() }, { data: order() }];
  const first = await service.api.call('POST', `${seller(BASE)}/order/`, { headers, body });
  const second = await service.api.call('POST', `${seller(SECOND)}/order`, { headers, body });
  expect([first.status, second.status, second.text]).toEqual([201, 201, first.text]);
  expect(second.headers.get('Idempotency-Replayed')).toBe('true');
  const { id } = first.body.data;
  expect([first.headers.get('Location'), second.headers.get('Location')]).toEqual(
    [BASE, SECOND].map((base) => `${base}/order/${id}/`),
  );
});

test('the second base path has the same authentication, errors, methods and rate limits', async () => {
  const { api } = service;
  const id = (await api.create()).body.data.id;
  const path = `${SECOND}/order/${id}/`;
  expectProblem(await api.call('GET', path, { key: null }), 401, 'unauthorized');
  expectProblem(await api.call('GET', path, { key: api.checkoutKey }), 401, 'unauthorized');
  const missing = `${SECOND}/order/${randomUUID()}/`;
  expect(expectProblem(await api.call('GET', missing), 404, 'not_found').instance).toBe(missing);
  expectProblem(await api.call('GET', `${SECOND}/seller/${randomUUID()}/order/${id}/`), 404, 'not_found');

  const put = await api.call('PUT', path);
  expectProblem(put, 405, 'method_not_allowed');
  expect(put.headers.get('Allow')).toBe('DELETE, GET, HEAD');
  expect((await api.call('OPTIONS', path)).status).toBe(204);

  const limits = async (base: string) => (await api.call('GET', `${base}/order/${id}/`)).headers.get('RateLimit');
  const remaining = (header: string | null) => Number(/"key";r=(\d+)/.exec(header ?? '')?.[1]);
  const before = remaining(await limits(BASE));
  expect(remaining(await limits(SECOND))).toBe(before - 1);
});

test('the OpenAPI document has the first base path', async () => {
  const { body } = await service.api.call('GET', '/openapi.json', { key: null });
  const paths = Object.keys(body.paths).filter((path) => path.startsWith('/api'));
  expect(paths.length).toBeGreaterThan(5);
  expect(paths.filter((path) => !path.startsWith(`${BASE}/`))).toEqual([]);
});

describe('the signature', () => {
  let id: string;
  beforeAll(async () => {
    id = (await service.api.create()).body.data.id;
  });

  const CALLS: Record<string, [status: number, call: () => Promise<ApiResponse>]> = {
    'a created order': [201, () => service.api.create()],
    'a created order with non-ASCII text': [201, () => service.api.create({ meta_data: { name: 'Zoë & Søn — 店' } })],
    'a retrieved order': [200, () => service.api.get(id)],
    'a list': [200, () => service.api.call('GET', `${seller(BASE)}/order/`)],
    'a timeline': [200, () => service.api.call('GET', `${BASE}/order/${id}/timeline/`)],
    'a response about invalid fields': [422, () => service.api.create({ amount: 0 })],
    'a response about invalid JSON': [400, () => service.api.call('POST', `${seller(BASE)}/order/`, { body: '{' })],
    'a 404': [404, () => service.api.get(randomUUID())],
  };

  test.each(Object.entries(CALLS))("%s is signed over its exact body with the caller's key", async (_, given) => {
    const [status, call] = given;
    const response = await call();
    expect(response.status).toBe(status);
    expect(response.headers.get(HEADER)).toBe(signatureOf(response.text));
    expect(response.headers.get('Content-Length')).toBe(String(Buffer.byteLength(response.text)));
    expect(response.headers.get('Content-Type')).toMatch(/^application\/(problem\+)?json/);
  });

  test('a CSV, which is sent while it is read, is not signed', async () => {
    const { status, headers } = await service.api.call('GET', `${seller(BASE)}/order/`, {
      headers: { Accept: 'text/csv' },
    });
    expect([status, headers.get(HEADER)]).toEqual([200, null]);
  });

  test('a response to the checkout is signed with the checkout key', async () => {
    const response = await service.api.progress(randomUUID(), 'approved');
    expect(response.status).toBe(404);
    expect(response.headers.get(HEADER)).toBe(signatureOf(response.text, service.api.checkoutKey));
  });

  test('the response to HEAD has the same signature as the response to GET', async () => {
    const { text } = await service.api.get(id);
    const headers = { Authorization: `Bearer ${stack.seller.key}` };
    const response = await fetch(`${service.api.url}${BASE}/order/${id}/`, { method: 'HEAD', headers });
    expect([response.status, await response.text()]).toEqual([200, '']);
    expect(response.headers.get(HEADER)).toBe(signatureOf(text));
  });

  test('a response to an unauthenticated request has no signature', async () => {
    const wrong = await service.api.get(id, { key: `sk_${randomUUID()}` });
    const none = await service.api.call('GET', '/nothing', { key: null });
    const health = await service.api.call('GET', '/health/live');
    expect([wrong.status, none.status, health.status]).toEqual([401, 404, 200]);
    for (const { headers } of [wrong, none, health]) expect(headers.has(HEADER)).toBe(false);
  });

  test('responses are not signed if RESPONSE_HMAC_HEADER is unset', async () => {
    const { status, text, headers } = await stack.api.create();
    expect(status).toBe(201);
    expect([...headers.values()]).not.toContain(signatureOf(text));
  });
});
