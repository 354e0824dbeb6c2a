import { type OrderSelection, findOrderStates, orderStatesByPage } from '../../../src/db/order-states';
import { useDatabase } from '../../support/database';
import { insertNewOrder, saveHistory } from '../../support/new-orders';
import { applyEvents } from '../../support/order-histories';

const database = useDatabase('test');

async function idsByPage(size: number, selection: OrderSelection = {}): Promise<string[][]> {
  const found: string[][] = [];
  for await (const page of orderStatesByPage(database.db, selection, size)) found.push(page.map(({ id }) => id));
  return found;
}

test('reading by page returns every order once, in pages of the requested size', async () => {
  const orders = await Promise.all(Array.from({ length: 7 }, () => insertNewOrder(database.db)));
  const ids = orders.map(({ order }) => order.id).sort();
  expect(await idsByPage(3)).toEqual([ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)]);
  expect(await idsByPage(7)).toEqual([ids]);
  expect(await idsByPage(100, { sellerId: orders[4]!.order.sellerId })).toEqual([[orders[4]!.order.id]]);
});

test('a page without a recently changed order is empty, and the next page follows', async () => {
  const { db } = database;
  const ids = (await Promise.all(Array.from({ length: 4 }, () => insertNewOrder(db))))
    .map(({ order }) => order.id)
    .sort();
  await db.query(`update order_timeline set at = '2020-01-01' where order_id <> $1`, [ids[3]]);
  expect(await idsByPage(1, { since: new Date('2020-01-02') })).toEqual([[], [], [], [ids[3]]]);
  expect((await idsByPage(2, { since: new Date('2020-01-01') })).flat()).toEqual(ids);
});

test('an order state has the fields that its workflow must match', async () => {
  const { db } = database;
  const before = await insertNewOrder(db, { webhookUrl: 'https://shop.example/hook' });
  const after = applyEvents(before, 'signup_started', 'declined', 'cancel');
  await saveHistory(db, after, 1000);
  expect(await findOrderStates(db, [before.order.id])).toEqual([
    {
      id: before.order.id,
      sellerId: before.order.sellerId,
      version: 4,
      status: 'UNSUCCESSFUL',
      cancelledAt: new Date(after.order.cancelledAt!),
      createdAt: new Date(before.order.createdAt),
      started: true,
      settled: false,
      requestsWait: false,
      changes: after.changes,
    },
  ]);
});
