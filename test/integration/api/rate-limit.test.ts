import { randomUUID } from 'node:crypto';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { updateSeller } from '../../../src/db/sellers';
import { createCheckoutKey, createSellerKey } from '../../support/keys';
import { type ApiResponse, type Api, apiOf, BASE } from '../../support/api';
import { type ApiServer, startApiWithoutTemporal } from '../../support/api-without-temporal';
import { holdDelays, moveClock } from '../../support/clock';
import { constants } from '../../support/constants';
import { useDatabase } from '../../support/database';
import { expectProblem } from '../../support/problems';
import { createSeller, log, type TestSeller } from '../../support/stack';
import { until } from '../../support/until';

let running: ApiServer[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(running.map((server) => server.stop()));
  running = [];
});
const database = useDatabase();
let seller: TestSeller;
let checkoutKey: string;
beforeEach(async () => {
  seller = await createSeller(database.db);
  checkoutKey = await createCheckoutKey(database.db);
});

const limits = (windowMs: number, checkoutKey?: number) =>
  constants({ rateLimits: { windowMs, ...(checkoutKey !== undefined && { checkoutKey }) } });

/** Starts an API. The default window is longer than a test. */
async function startApi(env: Record<string, string>): Promise<Api> {
  const settings = { ...limits(600_000), ...env, DATABASE_URL: database.url };
  const server = await startApiWithoutTemporal(settings, log);
  running.push(server);
  return apiOf(server.url, seller, checkoutKey);
}

/** A call that needs only a valid key. */
const check = (api: Api, key: string | null = seller.key, headers: Record<string, string> = {}, id = seller.id) =>
  api.call('GET', `${BASE}/seller/${id}/connection_check/`, { key, headers });
const wrongKey = () => `sk_${randomUUID()}`;
const forwardedFor = (addresses: string) => ({ 'X-Forwarded-For': addresses });

/** The statuses of `count` consecutive calls, spread over the APIs. */
async function statuses(count: number, call: (api: Api) => Promise<ApiResponse>, ...apis: Api[]): Promise<number[]> {
  const seen: number[] = [];
  for (let index = 0; index < count; index++) seen.push((await call(apis[index % apis.length]!)).status);
  return seen;
}
const times = (count: number, status: number) => Array<number>(count).fill(status);

function expectRateLimited(response: ApiResponse, limit: string): void {
  const { detail } = expectProblem(response, 429, 'rate_limited');
  const wait = response.headers.get('Retry-After')!;
  expect(wait).toMatch(/^[1-9]\d*$/);
  expect(detail).toMatch(new RegExp(`^The limit "${limit}" .* Nothing changed\\. Retry in ${wait} s\\.$`));
  expect(response.headers.get('RateLimit')).toMatch(new RegExp(`"${limit}";r=0;t=${wait}$`));
}

test.each(['ADDRESS', 'KEY'])(
  'the page of a shop can read that the example of repayments is over RATE_LIMIT_%s',
  async (name) => {
    const api = await startApi({ [`RATE_LIMIT_${name}`]: '1' });
    const key = name === 'KEY' ? seller.key : null;
    const example = () => api.call('GET', `${BASE}/seller/${seller.id}/repayment_example/?amount=10`, { key });
    await example();
    const response = await example();
    expectRateLimited(response, name.toLowerCase());
    expect(response.headers.get('Access-Control-Allow-Origin')).toBe('*');
  },
);

describe('a key', () => {
  test('has a limit in each API process', async () => {
    const apis = [await startApi({ RATE_LIMIT_KEY: '3' }), await startApi({ RATE_LIMIT_KEY: '3' })];
    expect(await statuses(8, check, ...apis)).toEqual([...times(6, 200), 429, 429]);
    for (const api of apis) expectRateLimited(await check(api), 'key');
  });

  test('over its limit is served again when the window ends, however many requests it has sent since', async () => {
    const api = await startApi({ RATE_LIMIT_KEY: '2', ...limits(3_600_000) });
    expect(await statuses(3, check, api)).toEqual([200, 200, 429]);
    moveClock(3_500_000);
    expect(await statuses(3, check, api)).toEqual([429, 429, 429]);
    jest.restoreAllMocks();
    moveClock(3_600_000);
    expect(await statuses(3, check, api)).toEqual([200, 200, 429]);
  });

  test('does not share its limit with other sellers or other keys', async () => {
    const api = await startApi({ RATE_LIMIT_KEY: '2' });
    expect(await statuses(3, check, api)).toEqual([200, 200, 429]);
    const other = await createSeller(database.db);
    expect((await check(api, other.key, {}, other.id)).status).toBe(200);
    expect((await check(api, await createSellerKey(database.db, seller.id))).status).toBe(200);
    expect((await api.progress(randomUUID(), 'approved')).status).toBe(404);
  });

  test('uses its limit for requests with another method too', async () => {
    const api = await startApi({ RATE_LIMIT_KEY: '3' });
    const calls = ['PUT', 'OPTIONS', 'PATCH', 'OPTIONS'].map((method) => (one: Api) => {
      return one.call(method, `${BASE}/order/${randomUUID()}/`);
    });
    const answers: number[] = [];
    for (const call of calls) answers.push((await call(api)).status);
    expect(answers).toEqual([405, 204, 405, 429]);
  });

  test('of the checkout has a limit of its own, because it serves the customers of all sellers', async () => {
    const api = await startApi({ RATE_LIMIT_KEY: '1', ...limits(600_000, 3) });
    const report = (one: Api) => one.progress(randomUUID(), 'approved');
    expect(await statuses(4, report, api)).toEqual([404, 404, 404, 429]);
  });

  test('is recognized in any spelling of the Authorization header', async () => {
    const api = await startApi({ RATE_LIMIT_KEY: '3' });
    const spelt = ['Bearer ', 'bearer ', 'BEARER   ', 'Bearer  '];
    const responses: ApiResponse[] = [];
    for (const scheme of spelt) responses.push(await check(api, null, { Authorization: scheme + seller.key }));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  });

  test('over its limit creates nothing', async () => {
    const api = await startApi({ RATE_LIMIT_KEY: '1' });
    expect((await api.create()).status).toBe(201);
    expectRateLimited(await api.create(), 'key');
    const { rowCount } = await database.db.query('select from orders where seller_id = $1', [seller.id]);
    expect(rowCount).toBe(1);
  });
});

describe('a seller whose account has its own limit', () => {
  test('gets that many requests per minute for all its keys together, instead of the limit per key', async () => {
    const api = await startApi({ RATE_LIMIT_KEY: '2' });
    await updateSeller(database.db, seller.id, { rateLimit: 6 });
    const keys = [seller.key, await createSellerKey(database.db, seller.id)];
    const seen: ApiResponse[] = [];
    for (let index = 0; index < 8; index++) seen.push(await check(api, keys[index % 2]));
    expect(seen.map(({ status }) => status)).toEqual([...times(6, 200), 429, 429]);
    expect(seen[0]!.headers.get('RateLimit-Policy')).toBe('"seller";q=6;w=60');
    expectRateLimited(await check(api), 'seller');

    const other = await createSeller(database.db);
    expect(await statuses(3, (one) => check(one, other.key, {}, other.id), api)).toEqual([200, 200, 429]);
  });

  test('keeps its one-minute window even if the window of the service is shorter', async () => {
    const api = await startApi(limits(1000));
    await updateSeller(database.db, seller.id, { rateLimit: 1 });
    expect((await check(api)).status).toBe(200);
    moveClock(1500);
    expectRateLimited(await check(api), 'seller');
  });
});

test('every response states the limits that apply, the remaining requests and the time until the window ends', async () => {
  const api = await startApi({ RATE_LIMIT_KEY: '3', RATE_LIMIT_ADDRESS: '9' });
  const limitHeaders = ({ headers }: ApiResponse) => [headers.get('RateLimit-Policy'), headers.get('RateLimit')];
  const expectLimit = (response: ApiResponse, status: number, policy: string, left: string) => {
    expect([response.status, ...limitHeaders(response)]).toEqual([
      status,
      policy,
      expect.stringMatching(`^${left};t=\\d+$`),
    ]);
  };
  const key = '"key";q=3;w=600';
  expectLimit(await check(api), 200, key, '"key";r=2');
  expectLimit(await api.get(randomUUID()), 404, key, '"key";r=1');
  expectLimit(await api.create({ amount: 0 }), 422, key, '"key";r=0');
  expectLimit(await check(api), 429, key, '"key";r=0');
  const address = '"address";q=9;w=600';
  expectLimit(await check(api, wrongKey()), 401, address, '"address";r=8');
  expectLimit(await api.call('GET', '/nothing', { key: null }), 404, address, '"address";r=7');
});

describe('an address', () => {
  const keyless = (api: Api, headers = {}) => check(api, null, headers);
  const guess = (api: Api, headers = {}) => check(api, wrongKey(), headers);

  test('has one limit for all its requests without a valid key', async () => {
    const api = await startApi({ RATE_LIMIT_ADDRESS: '4' });
    expect((await keyless(api)).status).toBe(401);
    expect((await guess(api)).status).toBe(401);
    expect((await api.call('GET', '/nothing', { key: null })).status).toBe(404);
    expect((await api.call('GET', '/openapi.json', { key: null })).status).toBe(200);
    expectRateLimited(await keyless(api), 'address');
    expectRateLimited(await guess(api), 'address');
  });

  test('at its limit can still use every valid key that it has used lately, and others after the window', async () => {
    const api = await startApi({ RATE_LIMIT_ADDRESS: '2' });
    expect((await check(api)).status).toBe(200);
    expect((await api.progress(randomUUID(), 'approved')).status).toBe(404);
    expect(await statuses(4, guess, api)).toEqual([401, 401, 429, 429]);
    const unused = await createSellerKey(database.db, seller.id);
    expect(await statuses(10, check, api)).toEqual(times(10, 200));
    expect((await api.progress(randomUUID(), 'approved')).status).toBe(404);
    expectRateLimited(await check(api, unused), 'address');
    expectRateLimited(await guess(api), 'address');
    moveClock(600_000);
    expect((await check(api, unused)).status).toBe(200);
    jest.restoreAllMocks();
    await database.db.query('update api_key set revoked_at = now() where seller_id = $1', [seller.id]);
    const isForgotten = async () => (await check(api)).status === 429;
    await until(isForgotten, 'the API has forgotten the revoked key');
    expectRateLimited(await check(api), 'address');
  });

  test('is not charged for a valid key of the wrong kind', async () => {
    const api = await startApi({ RATE_LIMIT_ADDRESS: '2' });
    expect(await statuses(5, (one) => check(one, checkoutKey), api)).toEqual(times(5, 401));
    expect((await check(api)).status).toBe(200);
  });

  test('that floods the API with invalid keys does not keep valid keys out that were used lately', async () => {
    const api = await startApi({ RATE_LIMIT_ADDRESS: '50' });
    expect((await check(api)).status).toBe(200);
    const guesses = Array.from({ length: 500 }, () => guess(api));
    expect((await check(api)).status).toBe(200);
    expect((await Promise.all(guesses)).map(({ status }) => status)).toContain(429);
  });

  test('over its limit gets its answers after a second, and valid keys get theirs immediately', async () => {
    const api = await startApi({ RATE_LIMIT_ADDRESS: '1' });
    expect((await check(api)).status).toBe(200);
    expect((await guess(api)).status).toBe(401);
    const answers = holdDelays(1000);
    const refused = guess(api);
    await until(() => answers.count() === 1, 'the answer waits');
    expect((await check(api)).status).toBe(200);
    answers.release();
    expect((await refused).status).toBe(429);
  });

  test('that floods the health checks waits for them', async () => {
    const api = await startApi({});
    const hundredAndFirst = new RateLimiterRes(0, 1000, 101);
    jest.spyOn(RateLimiterMemory.prototype, 'penalty').mockResolvedValue(hundredAndFirst);
    const answers = holdDelays(1000);
    const answer = api.call('GET', '/health/live', { key: null });
    await until(() => answers.count() === 1, 'the answer waits');
    answers.release();
    expect((await answer).status).toBe(200);
  });

  test('can send health checks without being refused', async () => {
    const api = await startApi({ RATE_LIMIT_ADDRESS: '1' });
    const health = (one: Api) => one.call('GET', '/health/live', { key: null });
    expect(await statuses(5, health, api)).toEqual(times(5, 200));
    expect((await health(api)).headers.get('RateLimit')).toBeNull();
    expect(await statuses(2, keyless, api)).toEqual([401, 429]);
    expect((await health(api)).status).toBe(200);
  });

  test('is taken from the connection: X-Forwarded-For is ignored by default', async () => {
    const api = await startApi({ RATE_LIMIT_ADDRESS: '3' });
    let last = 0;
    const spoofed = (one: Api) => keyless(one, forwardedFor(`192.0.2.${++last}`));
    expect(await statuses(4, spoofed, api)).toEqual([401, 401, 401, 429]);
  });

  test('is taken from the outermost trusted proxy, not from its client', async () => {
    const api = await startApi({ RATE_LIMIT_ADDRESS: '2', TRUSTED_PROXIES: '2' });
    let last = 0;
    const from = (address: string) => (one: Api) =>
      keyless(one, forwardedFor(`198.51.100.${++last}, ${address}, 10.0.0.1`));
    expect(await statuses(3, from('192.0.2.1'), api)).toEqual([401, 401, 429]);
    expect(await statuses(3, from('192.0.2.2'), api)).toEqual([401, 401, 429]);
    expect(await statuses(3, from('2001:db8::1'), api)).toEqual([401, 401, 429]);
    expect(await statuses(1, from('2001:db8::ffff:2'), api)).toEqual([429]);
    expect(await statuses(1, from('2001:db8:0:1::1'), api)).toEqual([401]);
  });
});

test('a list counts as one request for each 10 items of its limit, and a webhook test as 20', async () => {
  const api = await startApi({ RATE_LIMIT_KEY: '40' });
  const left = ({ headers }: ApiResponse) => /"key";r=(\d+)/.exec(headers.get('RateLimit')!)![1];
  const list = (query: string) => api.call('GET', `${BASE}/seller/${seller.id}/order/${query}`);
  expect(left(await list('?limit=100'))).toBe('30');
  expect(left(await list(''))).toBe('27');
  expect(left(await list('?limit=nonsense'))).toBe('26');
  expect(left(await api.call('GET', `${BASE}/order/${randomUUID()}/timeline/?limit=11`))).toBe('24');
  expect(left(await api.call('POST', `${BASE}/seller/${seller.id}/webhook_test/`, { body: '{' }))).toBe('4');
  const { detail } = expectProblem(await list('?limit=100'), 429, 'rate_limited');
  expect(detail).toContain('of 40 requests in 600 s is reached. This one counts as 10. Nothing changed.');
});

test('an answer counts as one more request for each 16 KB, and is sent even if it exceeds the limit', async () => {
  const api = await startApi({ RATE_LIMIT_KEY: '14' });
  for (let order = 0; order < 4; order++) await api.create({ meta_data: { text: 'x'.repeat(16_000) } });
  const list = () => api.call('GET', `${BASE}/seller/${seller.id}/order/`);
  const { status, headers } = await list();
  expect([status, headers.get('RateLimit-Policy'), headers.get('RateLimit')]).toEqual([
    200,
    '"key";q=14;w=600',
    expect.stringMatching(/^"key";r=3;t=\d+$/),
  ]);
  expect(headers.get('Content-Type')).toBe('application/json; charset=utf-8');
  const last = await list();
  expect([last.status, last.headers.get('RateLimit')]).toEqual([200, expect.stringMatching(/^"key";r=0;t=\d+$/)]);
  expect(last.body.data).toHaveLength(4);
  expectRateLimited(await list(), 'key');
});

test('a call that costs more than the limit takes the whole limit', async () => {
  const api = await startApi({});
  await updateSeller(database.db, seller.id, { rateLimit: 10 });
  const testWebhook = () => api.call('POST', `${BASE}/seller/${seller.id}/webhook_test/`, { body: '{' });
  const { status, headers } = await testWebhook();
  expect([status, headers.get('RateLimit')]).toEqual([400, expect.stringMatching(/^"seller";r=0;/)]);
  expectRateLimited(await testWebhook(), 'seller');
});
