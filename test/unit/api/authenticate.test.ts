import { createCallerLookup } from '../../../src/api/authenticate';
import { createRateLimits } from '../../../src/api/rate-limit';
import { keyDigest } from '../../../src/db/api-keys';
import type { Db } from '../../../src/db/pool';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A database with these checkout keys. Counts queries, and how many ran at the same time. */
function databaseWith(...valid: string[]) {
  const count = { queries: 0, running: 0, atOnce: 0 };
  const query = async ({ values: [digest] }: { values: [Buffer] }) => {
    count.queries += 1;
    count.running += 1;
    count.atOnce = Math.max(count.atOnce, count.running);
    await Promise.resolve();
    count.running -= 1;
    return { rows: valid.some((key) => keyDigest(key).equals(digest)) ? [{ kind: 'checkout' }] : [] };
  };
  return { db: { query } as unknown as Db, count };
}

test('the owner of a key is looked up once a second, so that a revoked key is refused after it', async () => {
  const { db, count } = databaseWith('ck_valid');
  const find = createCallerLookup(db);
  for (let times = 0; times < 5; times++) expect(await find('ck_valid')).toEqual({ kind: 'checkout' });
  expect(count.queries).toBe(1);
  jest.advanceTimersByTime(1000);
  await find('ck_valid');
  expect(count.queries).toBe(2);
});

test('owners expire one by one', async () => {
  const { db, count } = databaseWith('ck_valid', 'ck_other');
  const find = createCallerLookup(db);
  await find('ck_valid');
  jest.advanceTimersByTime(600);
  await find('ck_other');
  jest.advanceTimersByTime(600);
  await find('ck_other');
  expect(count.queries).toBe(2);
  await find('ck_valid');
  expect(count.queries).toBe(3);
});

test('a key that was valid lately does not wait behind unknown ones', async () => {
  const { db } = databaseWith('ck_valid');
  const find = createCallerLookup({
    query: (statement: { text: string; values: [Buffer] }) =>
      keyDigest('ck_valid').equals(statement.values[0]) ? db.query(statement) : new Promise(() => undefined),
  } as unknown as Db);
  await find('ck_valid');
  jest.advanceTimersByTime(1000);
  for (let waiting = 0; waiting < 8000; waiting++) find(`ck_${waiting}`).catch(() => undefined);
  expect(await find('ck_valid')).toEqual({ kind: 'checkout' });
});

test('no unknown key of an address over its limit is looked up, and a key that was valid lately is', async () => {
  const { db, count } = databaseWith('ck_valid');
  const find = createCallerLookup(db);
  await find('ck_valid');
  const limits = createRateLimits({ windowMs: 10_000, address: 2, key: 1, checkoutKey: 1, payLink: 1 });
  const call = (key: string) =>
    find(key, (run) => limits.whileCounted({ ip: '192.0.2.1', append: () => undefined }, run));
  const refused = Array.from({ length: 10 }, (_, index) => call(`ck_${index}`).catch((error: unknown) => error));
  await jest.advanceTimersByTimeAsync(1000);
  const results = await Promise.all(refused);
  expect(results.filter((result) => result === undefined)).toHaveLength(2);
  expect(results.at(-1)).toMatchObject({ code: 'rate_limited' });
  expect(count.queries).toBe(3);
  expect(await call('ck_valid')).toEqual({ kind: 'checkout' });
});

test('an unknown key is looked up each time, so that a new key works immediately', async () => {
  const { db, count } = databaseWith('ck_valid');
  const find = createCallerLookup(db);
  for (let times = 0; times < 3; times++) expect(await find('ck_new')).toBeUndefined();
  expect(count.queries).toBe(3);
});

test('a flood of unknown keys runs at most four queries at a time, and a valid key is found among them', async () => {
  const { db, count } = databaseWith('ck_valid');
  const find = createCallerLookup(db);
  const keys = Array.from({ length: 20 }, (_, index) => `ck_${index}`);
  const found = await Promise.all([...keys, 'ck_valid'].map((key) => find(key)));
  expect(found.at(-1)).toEqual({ kind: 'checkout' });
  expect(count.atOnce).toBe(4);
});

test('while Postgres does not answer, lookups that wait are refused after three seconds', async () => {
  const find = createCallerLookup({ query: () => new Promise(() => undefined) } as unknown as Db);
  for (let running = 0; running < 4; running++) void find('ck_running');
  const waiting = expect(find('ck_waiting')).rejects.toMatchObject({
    code: 'service_unavailable',
    headers: { 'Retry-After': '5' },
  });
  await jest.advanceTimersByTimeAsync(3000);
  await waiting;
});
