import { randomUUID } from 'node:crypto';
import { findLargestAccounts } from '../../../src/db/account-usage';
import { updateSeller } from '../../../src/db/sellers';
import { createSellerKey } from '../../support/keys';
import { createQuotas } from '../../../src/orders/quotas';
import { type Api, apiOf } from '../../support/api';
import { moveClock } from '../../support/clock';
import { expectProblem } from '../../support/problems';
import { createSeller, log, type TestSeller, useStack } from '../../support/stack';
import { until } from '../../support/until';
import { withApi } from '../../support/with-api';

const ENV = { ORDERS_PER_DAY: '3', SANDBOX_ORDERS_PER_DAY: '2' };
const stack = useStack({ worker: false, env: ENV });
afterEach(() => jest.restoreAllMocks());

const newSeller = async (sandbox = false): Promise<{ seller: TestSeller; api: Api }> => {
  const seller = await createSeller(stack.db, undefined, { sandbox });
  return { seller, api: apiOf(stack.api.url, seller, stack.api.checkoutKey) };
};
const statuses = async (api: Api, count: number, data = {}): Promise<number[]> => {
  const seen: number[] = [];
  for (let index = 0; index < count; index++) seen.push((await api.create(data)).status);
  return seen;
};

test('an account over its orders of a day gets 429 until midnight UTC, and everything else still works', async () => {
  const { api } = await newSeller();
  const { id } = (await api.create()).body.data;
  const headers = { 'Idempotency-Key': randomUUID() };
  const second = await api.create({ reference: headers['Idempotency-Key'] }, { headers });
  expect(await statuses(api, 2)).toEqual([201, 429]);
  const refused = await api.create();
  const { detail } = expectProblem(refused, 429, 'quota_exceeded');
  expect(detail).toBe('Your account may create 3 orders a day (UTC), and has. Nothing changed.');
  const left = (86_400_000 - (Date.now() % 86_400_000)) / 1000;
  expect(Math.abs(Number(refused.headers.get('Retry-After')) - left)).toBeLessThan(60);
  const replayed = await api.create({ reference: headers['Idempotency-Key'] }, { headers });
  expect([replayed.status, replayed.text]).toEqual([201, second.text]);
  expect((await api.get(id)).status).toBe(200);
  expect(await statuses((await newSeller()).api, 1)).toEqual([201]);
  moveClock(86_400_000);
  expect(await statuses(api, 1)).toEqual([201]);
});

test('the bytes of orders count too, and a sandbox account has limits of its own', async () => {
  const { api, seller } = await newSeller();
  await updateSeller(stack.db, seller.id, { bytesPerDay: 20_000 });
  expect(await statuses(api, 3, { meta_data: { text: 'x'.repeat(12_000) } })).toEqual([201, 201, 429]);
  expect(expectProblem(await api.create(), 429, 'quota_exceeded').detail).toContain('20000 bytes of orders a day');
  expect(await statuses((await newSeller(true)).api, 3)).toEqual([201, 201, 429]);
});

test('the account can have other limits, which apply within a second', async () => {
  const { api, seller } = await newSeller();
  expect(await statuses(api, 4)).toEqual([201, 201, 201, 429]);
  await updateSeller(stack.db, seller.id, { ordersPerDay: 4 });
  const key = await createSellerKey(stack.db, seller.id);
  expect((await api.create({}, { key })).status).toBe(201);
  expect((await api.create({}, { key })).status).toBe(429);
});

test('a failed create does not count', async () => {
  const { api } = await newSeller();
  await api.create({ reference: 'taken' });
  for (let times = 0; times < 5; times++) await api.create({ reference: 'taken' });
  expect(await statuses(api, 3)).toEqual([201, 201, 429]);
});

test('processes sum what they have counted, also when they stop, and a process that starts later goes on from there', async () => {
  const { seller } = await newSeller();
  const create = (count: number) => (api: Api) => statuses(apiOf(api.url, seller, api.checkoutKey), count);
  const settings = { ORDERS_PER_DAY: '5' };
  expect(await withApi(stack, settings, create(4))).toEqual([201, 201, 201, 201]);
  const used = async () => (await findLargestAccounts(stack.db)).find(({ sellerId }) => sellerId === seller.id);
  expect(await used()).toMatchObject({ orders: 4 });
  await withApi(stack, settings, async (second) => {
    expect(await create(1)(second)).toEqual([201]);
    await until(async () => (await used())?.orders === 5, 'the second process has summed');
    expect(await create(1)(second)).toEqual([429]);
  });
});

test('what could not be summed counts later, and a deleted account keeps no other from being summed', async () => {
  const usage = { orders: 100, bytes: 1e6 };
  const { seller } = await newSeller();
  let fails = true;
  const query = (...parameters: Parameters<typeof stack.db.query>) =>
    fails ? Promise.reject(new Error('no Postgres')) : stack.db.query(...parameters);
  const quotas = createQuotas({ live: usage, sandbox: usage }, { query } as unknown as typeof stack.db, log, 10);
  quotas.count(seller.id, {});
  quotas.count(randomUUID(), {});
  fails = false;
  await quotas.stop();
  const { rows } = await stack.db.query('select orders::int, bytes::int from account_usage where seller_id = $1', [
    seller.id,
  ]);
  expect(rows).toEqual([{ orders: 1, bytes: 2 }]);
});
