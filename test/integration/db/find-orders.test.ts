import { FIRST_ID, findLeftToDo, findOrder, readOrders } from '../../../src/db/find-orders';
import { useDatabase } from '../../support/database';
import { copyOrder } from '../../support/many-orders';
import { insertNewOrder, saveChanges } from '../../support/new-orders';
import { applyEvents } from '../../support/domain-orders';

const database = useDatabase();

test.each([1, 10, 29, 123_456_789, 1_000_000_000, 99_999_999_999_999])(
  'an amount of %d pence is stored exactly',
  async (amountPence) => {
    const { id } = await insertNewOrder(database.db, { amountPence });
    expect((await findOrder(database.db, id))?.amountPence).toBe(amountPence);
  },
);

test('orders with something left to do are found one page after the other, although most orders are closed', async () => {
  const { db } = database;
  const open = await insertNewOrder(db);
  const unsent = await insertNewOrder(db);
  const done = await insertNewOrder(db, { webhookUrl: null });
  for (const order of [unsent, done]) await saveChanges(db, applyEvents(order, 'cancel'));
  const found: string[] = [];
  for (let ids = [FIRST_ID]; ids.length > 0; found.push(...ids)) ids = await findLeftToDo(db, ids.at(-1)!, 2);
  expect(found).toEqual(expect.arrayContaining([open.id, unsent.id]));
  expect(found).not.toContain(done.id);
  expect(found).toEqual([...new Set(found)].sort());
});

test('all orders are read once each, in pages, although an order changes between two pages', async () => {
  const { db } = database;
  const { id, sellerId } = await insertNewOrder(db);
  await copyOrder(db, id, 1200);
  const read: string[] = [];
  const pages: number[] = [];
  for await (const page of readOrders(db, { sellerId, savedFrom: '2020-01-01' })) {
    pages.push(page.length);
    read.push(...page.map((order) => order.id));
    await db.query('update orders set saved_at = now() where id = $1', [read.at(-1)]);
  }
  expect(pages).toEqual([500, 500, 201]);
  expect(new Set(read).size).toBe(1201);
});
