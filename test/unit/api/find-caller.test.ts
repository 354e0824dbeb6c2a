import { createCallerLookup } from '../../../src/api/authenticate';
import { keyDigest } from '../../../src/db/api-keys';
import type { Db } from '../../../src/db/pool';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A database with these checkout keys, and the keys of each query. */
function databaseWith(...valid: string[]): { db: Db; queries: number[] } {
  const queries: number[] = [];
  const query = ({ values: [digests] }: { values: [Buffer[]] }) => {
    queries.push(digests.length);
    const rows = valid.map((key) => ({ digest: keyDigest(key), kind: 'checkout' }));
    return Promise.resolve({ rows: rows.filter(({ digest }) => digests.some((one) => one.equals(digest))) });
  };
  return { db: { query } as unknown as Db, queries };
}

test('the owner of a key is looked up once a second, so that a revoked key is refused after it', async () => {
  const { db, queries } = databaseWith('ck_valid');
  const find = createCallerLookup(db);
  for (let times = 0; times < 5; times++) expect(await find('ck_valid')).toEqual({ kind: 'checkout' });
  expect(queries).toEqual([1]);
  jest.advanceTimersByTime(1000);
  await find('ck_valid');
  expect(queries).toEqual([1, 1]);
});

test('an unknown key is looked up each time, so that a new key works immediately', async () => {
  const { db, queries } = databaseWith('ck_valid');
  const find = createCallerLookup(db);
  for (let times = 0; times < 3; times++) expect(await find('ck_new')).toBeUndefined();
  expect(queries).toEqual([1, 1, 1]);
});

test('keys that arrive while four queries run share the next one', async () => {
  const { db, queries } = databaseWith('ck_valid');
  const find = createCallerLookup(db);
  const keys = Array.from({ length: 20 }, (_, index) => `ck_${index}`);
  const found = await Promise.all([...keys, 'ck_valid'].map((key) => find(key)));
  expect(found.at(-1)).toEqual({ kind: 'checkout' });
  expect(queries.length).toBeLessThan(10);
  expect(queries.reduce((sum, count) => sum + count)).toBe(21);
});
