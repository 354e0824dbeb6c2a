import { randomUUID } from 'node:crypto';
import { findOrder, findOrderByReference, findOrdersToCompare } from '../../../src/db/find-orders';
import { insertOrder } from '../../../src/db/insert-order';
import { useDatabase } from '../../support/database';
import { insertNewOrder, newOrder, newSeller, saveHistory } from '../../support/new-orders';
import { applyEvents } from '../../support/order-histories';

const database = useDatabase();
let sellerId: string;
beforeAll(async () => {
  sellerId = await newSeller(database.db);
});

test('a new order is read as it was inserted, with its first change and a workflow that is not started', async () => {
  const attachments = { source: 'shop', metaData: { z: 1.1, 10: [1e308, null], 9: { a: 'é' } } };
  const pricing = {
    representativeInterest: 9.9,
    promotions: [{ name: 'x', interestFreeDays: 3, validUntil: '2027-01-31' }],
  };
  const inserted = newOrder(
    sellerId,
    { pricing, expiresAt: '2026-04-01T10:00:00.123Z', webhookUrl: null, cancelUrl: 'https://shop.example/cart' },
    { attachments },
  );
  const { order, changes } = inserted;
  expect(await insertOrder(database.db, inserted)).toBeDefined();
  const stored = await findOrder(database.db, order.id);
  expect(stored).toEqual({ order, changes, attachments, started: false, workflowVersion: null });
});

test.each([1, 10, 29, 123_456_789, 1_000_000_000, 99_999_999_999_999])(
  'an amount of %d pence is stored exactly',
  async (amountPence) => {
    const inserted = newOrder(sellerId, { amountPence });
    await insertOrder(database.db, inserted);
    expect((await findOrder(database.db, inserted.order.id))?.order.amountPence).toBe(amountPence);
  },
);

test('an order is found for its own seller only', async () => {
  const inserted = newOrder(sellerId);
  await insertOrder(database.db, inserted);
  const { id } = inserted.order;
  expect(await findOrder(database.db, id, sellerId)).toBeDefined();
  expect(await findOrder(database.db, id, await newSeller(database.db))).toBeUndefined();
  expect(await findOrder(database.db, randomUUID())).toBeUndefined();
});

test('an order is found by its reference', async () => {
  const inserted = newOrder(sellerId, { reference: 'taken' });
  await insertOrder(database.db, inserted);
  const { id, payLinkId, status, amountPence } = inserted.order;
  const found = await findOrderByReference(database.db, sellerId, 'taken');
  expect(found).toEqual({ id, payLinkId, status, amountPence });
  expect(await findOrderByReference(database.db, sellerId, 'free')).toBeUndefined();
});

test('an UNSUCCESSFUL order is not found by its reference', async () => {
  const inserted = newOrder(sellerId, { reference: 'freed' });
  await insertOrder(database.db, inserted);
  await database.db.query(`update orders set status = 'UNSUCCESSFUL' where id = $1`, [inserted.order.id]);
  expect(await findOrderByReference(database.db, sellerId, 'freed')).toBeUndefined();
});

test('orders to compare are found one page after the other, although most orders are closed', async () => {
  const { db } = database;
  const open = await insertNewOrder(db);
  const unsent = await insertNewOrder(db);
  const done = await insertNewOrder(db, { webhookUrl: null });
  for (const history of [unsent, done]) await saveHistory(db, applyEvents(history, 'cancel'));
  const found: string[] = [];
  for (let after: string | undefined; ;) {
    const { ids, last } = await findOrdersToCompare(db, { after }, 2);
    found.push(...ids);
    if (last === undefined) break;
    after = last;
  }
  expect(found).toEqual(expect.arrayContaining([open.order.id, unsent.order.id]));
  expect(found).not.toContain(done.order.id);
  expect(found).toEqual([...new Set(found)].sort());
});
