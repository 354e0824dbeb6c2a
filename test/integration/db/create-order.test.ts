import { randomUUID } from 'node:crypto';
import { type IdempotencyClaim, insertOrder } from '../../../src/db/insert-order';
import { violatedConstraint } from '../../../src/db/database-errors';
import { findIdempotencyKey } from '../../../src/db/idempotency-keys';
import { findOrder, findOrderByReference } from '../../../src/db/find-orders';
import { type TestDatabase, createDatabase } from '../../support/database';
import { newOrder, newSeller } from './new-orders';

let database: TestDatabase;
let sellerId: string;
beforeAll(async () => {
  database = await createDatabase();
  sellerId = await newSeller(database.db);
});
afterAll(() => database.drop());

function claimOf(key: string): IdempotencyClaim {
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

test('an order is found as it was inserted, with its first line of history, not started', async () => {
  const attachments = { source: 'shop', metaData: { z: 1, a: [2, { b: null }] } };
  const pricing = {
    representativeInterest: 9.9,
    promotions: [{ name: 'x', interestFreeDays: 3, validUntil: '2027-01-31' }],
  };
  const fresh = newOrder(
    sellerId,
    { pricing, expiresAt: '2026-04-01T10:00:00.123Z', webhookUrl: null },
    { attachments },
  );
  expect(await insertOrder(database.db, fresh)).toBe(true);
  const stored = await findOrder(database.db, fresh.order.id);
  expect(stored).toEqual({ order: fresh.order, changes: fresh.changes, attachments, started: false });
  expect(JSON.stringify(stored?.attachments)).toBe(JSON.stringify(attachments));
});

test.each([1, 10, 29, 123_456_789, 1_000_000_000, 99_999_999_999_999])(
  '%d pence are kept exactly',
  async (amountPence) => {
    const fresh = newOrder(sellerId, { amountPence });
    await insertOrder(database.db, fresh);
    expect((await findOrder(database.db, fresh.order.id))?.order.amountPence).toBe(amountPence);
  },
);

test('an order is found for its own seller only', async () => {
  const fresh = newOrder(sellerId);
  await insertOrder(database.db, fresh);
  const { id } = fresh.order;
  expect(await findOrder(database.db, id, sellerId)).toBeDefined();
  expect(await findOrder(database.db, id, await newSeller(database.db))).toBeUndefined();
  expect(await findOrder(database.db, randomUUID())).toBeUndefined();
});

test('a reference is taken once for each seller, and found', async () => {
  const first = newOrder(sellerId, { reference: 'taken' });
  await insertOrder(database.db, first);
  const error: unknown = await insertOrder(database.db, newOrder(sellerId, { reference: 'taken' })).catch(
    (one: unknown) => one,
  );
  expect(violatedConstraint(error)).toBe('orders_reference');
  expect(await insertOrder(database.db, newOrder(await newSeller(database.db), { reference: 'taken' }))).toBe(true);
  const { id, payLinkId, status, amountPence } = first.order;
  const found = await findOrderByReference(database.db, sellerId, 'taken');
  expect(found).toEqual({ id, payLinkId, status, amountPence });
  expect(await findOrderByReference(database.db, sellerId, 'free')).toBeUndefined();
});

test('the reference of an UNSUCCESSFUL order is free', async () => {
  const first = newOrder(sellerId, { reference: 'freed' });
  await insertOrder(database.db, first);
  await database.db.query(`update orders set status = 'UNSUCCESSFUL' where id = $1`, [first.order.id]);
  expect(await findOrderByReference(database.db, sellerId, 'freed')).toBeUndefined();
  expect(await insertOrder(database.db, newOrder(sellerId, { reference: 'freed' }))).toBe(true);
});

test('a key that is claimed lets no second order in, and keeps the first answer', async () => {
  const idempotency = claimOf('key 1');
  expect(await insertOrder(database.db, newOrder(sellerId, {}, { idempotency }))).toBe(true);
  const before = [await countOf('orders'), await countOf('order_timeline')];
  const second = newOrder(sellerId, {}, { idempotency: { ...claimOf('key 1'), requestDigest: Buffer.from('other') } });
  expect(await insertOrder(database.db, second)).toBe(false);
  expect([await countOf('orders'), await countOf('order_timeline')]).toEqual(before);
  const { requestDigest, response } = idempotency;
  expect(await findIdempotencyKey(database.db, sellerId, 'key 1')).toEqual({ requestDigest, response });
  expect(await findIdempotencyKey(database.db, await newSeller(database.db), 'key 1')).toBeUndefined();
});

test('a reference that is taken leaves no claim on the key behind', async () => {
  await insertOrder(database.db, newOrder(sellerId, { reference: 'both' }));
  const before = [await countOf('orders'), await countOf('order_timeline'), await countOf('idempotency_key')];
  const second = newOrder(sellerId, { reference: 'both' }, { idempotency: claimOf('key 2') });
  await expect(insertOrder(database.db, second)).rejects.toThrow('orders_reference');
  expect([await countOf('orders'), await countOf('order_timeline'), await countOf('idempotency_key')]).toEqual(before);
});
