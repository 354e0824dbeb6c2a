import { randomUUID } from 'node:crypto';
import { findOrder, findOrderByReference, findOrdersToCompare } from '../../../src/db/find-orders';
import { useDatabase } from '../../support/database';
import { insertNewOrder, newSeller, saveChanges } from '../../support/new-orders';
import { applyEvents } from '../../support/domain-orders';

const database = useDatabase();
let sellerId: string;
beforeAll(async () => {
  sellerId = await newSeller(database.db);
});

test('a new order is read as it was inserted, with its first change and a workflow that is not started', async () => {
  const pricing = {
    representativeInterest: 9.9,
    promotions: [{ name: 'x', interestFreeDays: 3, validUntil: '2027-01-31' }],
  };
  const facts = {
    pricing,
    webhookUrl: null,
    cancelUrl: 'https://shop.example/cart',
    source: 'shop',
    metaData: { z: 1.1, 10: [1e308, null], 9: { a: 'é' } },
  };
  const order = await insertNewOrder(database.db, facts, { expiresAfterMs: 60_001 });
  expect(order).toMatchObject({ ...facts, version: 1, status: 'CREATED', changes: [{ at: order.createdAt }] });
  expect(Date.parse(order.expiresAt!) - Date.parse(order.createdAt)).toBe(60_001);
  expect(await findOrder(database.db, order.id)).toEqual({
    ...order,
    started: false,
    heldUntil: null,
    workflowVersion: null,
  });
});

test.each([1, 10, 29, 123_456_789, 1_000_000_000, 99_999_999_999_999])(
  'an amount of %d pence is stored exactly',
  async (amountPence) => {
    const { id } = await insertNewOrder(database.db, { amountPence });
    expect((await findOrder(database.db, id))?.amountPence).toBe(amountPence);
  },
);

test('an order is found for its own seller only', async () => {
  const { id } = await insertNewOrder(database.db, { sellerId });
  expect(await findOrder(database.db, id, sellerId)).toBeDefined();
  expect(await findOrder(database.db, id, await newSeller(database.db))).toBeUndefined();
  expect(await findOrder(database.db, randomUUID())).toBeUndefined();
});

test('an order is found by its reference', async () => {
  const taken = { sellerId, reference: 'taken' };
  const { id, payLinkId, status, amountPence } = await insertNewOrder(database.db, taken);
  const found = await findOrderByReference(database.db, sellerId, 'taken');
  expect(found).toEqual({ id, payLinkId, status, amountPence });
  expect(await findOrderByReference(database.db, sellerId, 'free')).toBeUndefined();
});

test('an UNSUCCESSFUL order is not found by its reference', async () => {
  const inserted = await insertNewOrder(database.db, { sellerId, reference: 'freed' });
  await database.db.query(`update orders set status = 'UNSUCCESSFUL' where id = $1`, [inserted.id]);
  expect(await findOrderByReference(database.db, sellerId, 'freed')).toBeUndefined();
});

test('orders to compare are found one page after the other, although most orders are closed', async () => {
  const { db } = database;
  const open = await insertNewOrder(db);
  const unsent = await insertNewOrder(db);
  const done = await insertNewOrder(db, { webhookUrl: null });
  for (const order of [unsent, done]) await saveChanges(db, applyEvents(order, 'cancel'));
  const found: string[] = [];
  for (let after: string | undefined; ;) {
    const { ids, last } = await findOrdersToCompare(db, { after }, 2);
    found.push(...ids);
    if (last === undefined) break;
    after = last;
  }
  expect(found).toEqual(expect.arrayContaining([open.id, unsent.id]));
  expect(found).not.toContain(done.id);
  expect(found).toEqual([...new Set(found)].sort());
});
