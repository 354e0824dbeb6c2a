import { pruneIdempotencyKeys } from '../../../src/db/idempotency-keys';
import { useDatabase } from '../../support/database';
import { insertNewOrder, newSeller } from '../../support/new-orders';
import { queryPlan } from '../../support/query-plan';

const database = useDatabase('test');
let sellerId: string;
beforeEach(async () => {
  sellerId = await newSeller(database.db);
});

async function insertKey(key: string, ageDays: number): Promise<void> {
  const response = { id: key, amount: 1, reference: key, order_url: '', status: 'CREATED', allowed_payment_terms: [] };
  const idempotency = { key, requestDigest: Buffer.from(key), response: response as never };
  await insertNewOrder(database.db, { sellerId }, { idempotency });
  await database.db.query(`update idempotency_key set created_at = now() - $1 * interval '1 day' where key = $2`, [
    ageDays,
    key,
  ]);
}
const remainingKeys = async (): Promise<string[]> =>
  (await database.db.query<{ key: string }>('select key from idempotency_key order by key')).rows.map(({ key }) => key);

test('one call deletes at most one batch of keys, oldest first', async () => {
  for (const day of [33, 31, 34, 32]) await insertKey(`of ${day} days`, day);
  expect(await pruneIdempotencyKeys(database.db, 30, 3)).toBe(3);
  expect(await remainingKeys()).toEqual(['of 31 days']);
  expect(await pruneIdempotencyKeys(database.db, 30, 3)).toBe(1);
  expect(await pruneIdempotencyKeys(database.db, 30, 3)).toBe(0);
});

test('concurrent calls delete different keys and do not wait for each other', async () => {
  for (let count = 0; count < 20; count++) await insertKey(`key ${count}`, 31);
  const counts = await Promise.all(Array.from({ length: 4 }, () => pruneIdempotencyKeys(database.db, 30, 5)));
  expect(counts).toEqual([5, 5, 5, 5]);
  expect(await remainingKeys()).toEqual([]);
});

test('an index finds the keys to delete among many others', async () => {
  await insertKey('old', 31);
  await database.db
    .query(`insert into idempotency_key select seller_id, 'key ' || n, request_digest, order_id, response, now()
    from idempotency_key, generate_series(1, 20000) n`);
  await database.db.query('analyze idempotency_key');
  const plan = await queryPlan(database.db, (explainingDb) => pruneIdempotencyKeys(explainingDb, 30, 1000));
  expect(plan).toContain('Index Scan using idempotency_key_by_age');
  expect(plan).not.toContain('Seq Scan');
});
