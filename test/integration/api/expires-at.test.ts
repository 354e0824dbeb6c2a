import { randomUUID } from 'node:crypto';
import { type Api, BASE, order } from '../../support/api';
import { expectProblem } from '../../support/problems';
import { useSharedStack } from '../../support/shared-stack';
import { until } from '../../support/until';
import { withApi } from '../../support/with-api';

const stack = useSharedStack();
const HOUR_MS = 3_600_000;
const YEAR_MS = 366 * 24 * HOUR_MS;
const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();

test('an order has the expiry of its request, whatever the time zone, and expires then', async () => {
  const expiresAt = inMs(2000);
  const { id } = (await stack.api.create({ expires_at: expiresAt.replace('Z', '+00:00') })).body.data;
  expect((await stack.api.get(id)).body.data).toMatchObject({ status: 'CREATED', expires_at: expiresAt });
  const expired = await until(async () => {
    const { data } = (await stack.api.get(id)).body;
    return data.status === 'UNSUCCESSFUL' ? data : undefined;
  }, 'the order expires');
  expect(expired.unsuccessful_reason).toBe('expired');
  expect(Date.parse(expired.updated_at)).toBeGreaterThanOrEqual(Date.parse(expiresAt));
});

test('null and an omitted expiry mean ORDER_EXPIRES_AFTER_MS, by default a day', async () => {
  const expectDefault = async (api: Api, ms: number): Promise<void> => {
    for (const data of [{}, { expires_at: null }]) {
      const { id } = (await api.create(data)).body.data;
      const { created_at: created, expires_at: expires } = (await api.get(id)).body.data;
      expect(Date.parse(expires) - Date.parse(created)).toBe(ms);
    }
  };
  await expectDefault(stack.api, 24 * HOUR_MS);
  await withApi(stack, { ORDER_EXPIRES_AFTER_MS: String(HOUR_MS) }, (api) => expectDefault(api, HOUR_MS));
});

test('an expiry can be a year ahead, and the error for a later one says so', async () => {
  expect((await stack.api.create({ expires_at: inMs(YEAR_MS - HOUR_MS) })).status).toBe(201);
  const { detail } = expectProblem(
    await stack.api.create({ expires_at: inMs(YEAR_MS + HOUR_MS) }),
    422,
    'invalid_request',
  );
  expect(detail).toBe('/data/expires_at must be at most 366 days from now.');
});

test.each([
  [inMs(-HOUR_MS), 'too_small'],
  [inMs(YEAR_MS + HOUR_MS), 'too_big'],
  ['9999-12-31T23:59:59Z', 'too_big'],
  ['2026-11-21', 'invalid_format'],
  ['tomorrow', 'invalid_format'],
  ['2999-02-30T00:00:00Z', 'invalid_format'],
  [1_900_000_000, 'invalid_type'],
])('the expiry %j is refused', async (expires_at, code) => {
  const { errors } = expectProblem(await stack.api.create({ expires_at }), 422, 'invalid_request');
  expect(errors).toMatchObject([{ code, pointer: '/data/expires_at' }]);
});

test('a repeated request gets the first response even after its expiry, and another expiry is another request', async () => {
  const data = { ...order(), expires_at: inMs(1500) };
  const headers = { 'Idempotency-Key': randomUUID() };
  const created = await stack.api.create(data, { headers });
  expect(created.status).toBe(201);
  const other = await stack.api.create({ ...data, expires_at: inMs(HOUR_MS) }, { headers });
  expectProblem(other, 422, 'idempotency_key_reused');
  await until(() => Date.now() > Date.parse(data.expires_at), 'the expiry has passed');
  const replay = await stack.api.create(data, { headers });
  expect([replay.status, replay.body]).toEqual([201, created.body]);
  expect((await stack.api.call('GET', `${BASE}/order/${created.body.data.id}/`)).status).toBe(200);
});
