import { insertOrder } from '../../../src/db/insert-order';
import { findIdempotencyKey, pruneIdempotencyKeys } from '../../../src/db/idempotency-keys';
import type { Db } from '../../../src/db/pool';
import { type TestDatabase, createDatabase } from '../../support/database';
import { newOrder, newSeller } from './new-orders';
import { queryPlan } from './query-plan';

let database: TestDatabase;
let db: Db;
let sellerId: string;
beforeEach(async () => {
  database = await createDatabase();
  db = database.db;
  sellerId = await newSeller(db);
});
afterEach(() => database.drop());

async function insertKey(key: string, ageDays: number): Promise<void> {
  const response = { id: key, amount: 1, reference: key, order_url: '', status: 'CREATED', allowed_payment_terms: [] };
  const idempotency = { key, requestDigest: Buffer.from(key), response: response as never };
  await insertOrder(db, newOrder(sellerId, {}, { idempotency }));
  await db.query(`update idempotency_key set created_at = now() - $1 * interval '1 day' where key = $2`, [
    ageDays,
    key,
  ]);
}
const kept = async (): Promise<string[]> =>
  (await db.query<{ key: string }>('select key from idempotency_key order by key')).rows.map(({ key }) => key);

test('a key is forgotten once it is older than it is kept, not before; its order stays', async () => {
  await insertKey('fresh', 0);
  await insertKey('of 29.9 days', 29.9);
  await insertKey('of 30.1 days', 30.1);
  expect(await pruneIdempotencyKeys(db, 30, 100)).toBe(1);
  expect(await kept()).toEqual(['fresh', 'of 29.9 days']);
  expect(await findIdempotencyKey(db, sellerId, 'of 30.1 days')).toBeUndefined();
  expect((await db.query('select from orders')).rowCount).toBe(3);
});

test('no more than a batch is forgotten at once, the oldest first', async () => {
  for (const day of [33, 31, 34, 32]) await insertKey(`of ${day} days`, day);
  expect(await pruneIdempotencyKeys(db, 30, 3)).toBe(3);
  expect(await kept()).toEqual(['of 31 days']);
  expect(await pruneIdempotencyKeys(db, 30, 3)).toBe(1);
  expect(await pruneIdempotencyKeys(db, 30, 3)).toBe(0);
});

test('pruners beside each other take different keys and wait for none', async () => {
  for (let count = 0; count < 20; count++) await insertKey(`key ${count}`, 31);
  const counts = await Promise.all(Array.from({ length: 4 }, () => pruneIdempotencyKeys(db, 30, 5)));
  expect(counts).toEqual([5, 5, 5, 5]);
  expect(await kept()).toEqual([]);
});

test('the keys to forget are found by an index, however many are kept', async () => {
  await insertKey('old', 31);
  await db.query(`insert into idempotency_key select seller_id, 'key ' || n, request_digest, order_id, response, now()
    from idempotency_key, generate_series(1, 20000) n`);
  await db.query('analyze idempotency_key');
  const plan = await queryPlan(db, (explaining) => pruneIdempotencyKeys(explaining, 30, 1000));
  expect(plan).toContain('Index Scan using idempotency_key_by_age');
  expect(plan).not.toContain('Seq Scan');
});
