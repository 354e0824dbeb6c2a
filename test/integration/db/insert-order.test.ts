import { randomUUID } from 'node:crypto';
import { violatedConstraint } from '../../../src/db/database-errors';
import { findIdempotencyKey } from '../../../src/db/idempotency-keys';
import { createPool } from '../../../src/db/pool';
import { type Creation, insertOrder } from '../../../src/db/save-order';
import { useDatabase } from '../../support/database';
import { BY_SELLER, newOrder, newSeller } from '../../support/new-orders';

const database = useDatabase();
let sellerId: string;
beforeAll(async () => {
  sellerId = await newSeller(database.db);
});

function newKey(key: string): NonNullable<Creation['idempotency']> {
  const response = {
    id: randomUUID(),
    amount: 1,
    reference: key,
    order_url: '',
    status: 'CREATED' as const,
    allowed_payment_terms: [],
  };
  return { key, requestDigest: Buffer.from(key), response };
}
const countOf = async (table: string) => (await database.db.query(`select from ${table}`)).rowCount;

test('a second order with the same reference violates the unique index of its seller only', async () => {
  await insertOrder(database.db, newOrder(sellerId, { reference: 'taken' }), BY_SELLER);
  const duplicate = insertOrder(database.db, newOrder(sellerId, { reference: 'taken' }), BY_SELLER);
  expect(violatedConstraint(await duplicate.catch((error: unknown) => error))).toBe('orders_reference');
  expect(
    await insertOrder(database.db, newOrder(await newSeller(database.db), { reference: 'taken' }), BY_SELLER),
  ).toBeDefined();
});

test('a refused insert keeps its connection', async () => {
  const pool = createPool(database.url, 1, () => undefined);
  const pid = async () => (await pool.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;
  const before = await pid();
  await insertOrder(pool, newOrder(sellerId, { reference: 'taken once' }), BY_SELLER);
  const duplicate = insertOrder(pool, newOrder(sellerId, { reference: 'taken once' }), BY_SELLER);
  await expect(duplicate).rejects.toMatchObject({ code: '23505' });
  expect(await pid()).toBe(before);
  await pool.end();
});

test('the reference of an UNSUCCESSFUL order can be used again', async () => {
  const first = newOrder(sellerId, { reference: 'freed' });
  await insertOrder(database.db, first, BY_SELLER);
  await database.db.query(`update orders set status = 'UNSUCCESSFUL' where id = $1`, [first.id]);
  expect(await insertOrder(database.db, newOrder(sellerId, { reference: 'freed' }), BY_SELLER)).toBeDefined();
});

test('an Idempotency-Key that is stored already inserts no order and keeps the first response', async () => {
  const idempotency = newKey('key 1');
  expect(await insertOrder(database.db, newOrder(sellerId), { ...BY_SELLER, idempotency })).toBeDefined();
  const before = [await countOf('orders'), await countOf('order_timeline')];
  const other = { ...newKey('key 1'), requestDigest: Buffer.from('other') };
  const second = { ...BY_SELLER, idempotency: other };
  expect(await insertOrder(database.db, newOrder(sellerId), second)).toBeUndefined();
  expect([await countOf('orders'), await countOf('order_timeline')]).toEqual(before);
  const { requestDigest, response } = idempotency;
  expect(await findIdempotencyKey(database.db, sellerId, 'key 1')).toEqual({ requestDigest, response });
  expect(await findIdempotencyKey(database.db, await newSeller(database.db), 'key 1')).toBeUndefined();
});

test('a duplicate reference leaves neither an order nor the Idempotency-Key', async () => {
  await insertOrder(database.db, newOrder(sellerId, { reference: 'both' }), BY_SELLER);
  const before = [await countOf('orders'), await countOf('order_timeline'), await countOf('idempotency_key')];
  const second = newOrder(sellerId, { reference: 'both' });
  const withKey = { ...BY_SELLER, idempotency: newKey('key 2') };
  await expect(insertOrder(database.db, second, withKey)).rejects.toThrow('orders_reference');
  expect([await countOf('orders'), await countOf('order_timeline'), await countOf('idempotency_key')]).toEqual(before);
});
