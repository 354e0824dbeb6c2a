import { createHmac, randomUUID } from 'node:crypto';
import { type ApiResponse, BASE } from '../../support/api';
import { useStack } from '../../support/stack';
import { useSharedStack } from '../../support/shared-stack';

const HEADER = 'X-Shop-Signature';
const stack = useStack({ env: { RESPONSE_HMAC_HEADER: HEADER } });
let id: string;
let seller: string;
beforeAll(async () => {
  id = (await stack.api.create()).body.data.id;
  seller = `${BASE}/seller/${stack.seller.id}`;
});

const signatureOf = (body: string, key: string) => createHmac('sha256', key).update(body).digest('base64');

const CALLS: Record<string, [status: number, call: () => Promise<ApiResponse>]> = {
  'a created order': [201, () => stack.api.create()],
  'a created order with non-ASCII text': [201, () => stack.api.create({ meta_data: { name: 'Zoë & Søn — 店' } })],
  'a retrieved order': [200, () => stack.api.get(id)],
  'a list': [200, () => stack.api.call('GET', `${seller}/order/`)],
  'a timeline': [200, () => stack.api.call('GET', `${BASE}/order/${id}/timeline/`)],
  'a response about invalid fields': [422, () => stack.api.create({ amount: 0 })],
  'a response about invalid JSON': [400, () => stack.api.call('POST', `${seller}/order/`, { body: '{' })],
  'a 404': [404, () => stack.api.get(randomUUID())],
};

test.each(Object.entries(CALLS))("%s is signed over its exact body with the caller's key", async (_, given) => {
  const [status, call] = given;
  const response = await call();
  expect(response.status).toBe(status);
  expect(response.headers.get(HEADER)).toBe(signatureOf(response.text, stack.seller.key));
  expect(response.headers.get('Content-Length')).toBe(String(Buffer.byteLength(response.text)));
  expect(response.headers.get('Content-Type')).toMatch(/^application\/(problem\+)?json/);
});

test('a CSV, which is sent while it is read, is not signed', async () => {
  const { status, headers } = await stack.api.call('GET', `${seller}/order/`, { headers: { Accept: 'text/csv' } });
  expect([status, headers.get(HEADER)]).toEqual([200, null]);
});

test('a response to the checkout is signed with the checkout key', async () => {
  const response = await stack.api.progress(randomUUID(), 'approved');
  expect(response.status).toBe(404);
  expect(response.headers.get(HEADER)).toBe(signatureOf(response.text, stack.api.checkoutKey));
});

test('the response to HEAD has the same signature as the response to GET', async () => {
  const { text } = await stack.api.get(id);
  const headers = { Authorization: `Bearer ${stack.seller.key}` };
  const response = await fetch(`${stack.api.url}${BASE}/order/${id}/`, { method: 'HEAD', headers });
  expect([response.status, await response.text()]).toEqual([200, '']);
  expect(response.headers.get(HEADER)).toBe(signatureOf(text, stack.seller.key));
});

test('a response to an unauthenticated request has no signature', async () => {
  const wrong = await stack.api.get(id, { key: `sk_${randomUUID()}` });
  const none = await stack.api.call('GET', '/nothing', { key: null });
  const health = await stack.api.call('GET', '/health/live');
  expect([wrong.status, none.status, health.status]).toEqual([401, 404, 200]);
  for (const { headers } of [wrong, none, health]) expect(headers.has(HEADER)).toBe(false);
});

const plain = useSharedStack();

test('responses are not signed if RESPONSE_HMAC_HEADER is unset', async () => {
  const { status, text, headers } = await plain.api.create();
  expect(status).toBe(201);
  expect([...headers.values()]).not.toContain(signatureOf(text, plain.seller.key));
});
