import { type OrderSelection, findOrderStates, orderStatesByPage } from '../../../src/db/order-states';
import { type TestDatabase, createDatabase } from '../../support/database';
import { go, insertedOrder, saveHistory } from './new-orders';

let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(() => database.drop());

async function pages(size: number, selection: OrderSelection = {}): Promise<string[][]> {
  const found: string[][] = [];
  for await (const page of orderStatesByPage(database.db, selection, size)) found.push(page.map(({ id }) => id));
  return found;
}

test('every order comes once, in pages of the size asked for', async () => {
  const orders = await Promise.all(Array.from({ length: 7 }, () => insertedOrder(database.db)));
  const ids = orders.map(({ order }) => order.id).sort();
  expect(await pages(3)).toEqual([ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)]);
  expect(await pages(7)).toEqual([ids]);
  expect(await pages(100, { sellerId: orders[4]!.order.sellerId })).toEqual([[orders[4]!.order.id]]);
});

test('a page may hold none that was changed since, and the next one still comes', async () => {
  const { db } = database;
  const ids = (await Promise.all(Array.from({ length: 4 }, () => insertedOrder(db))))
    .map(({ order }) => order.id)
    .sort();
  await db.query(`update order_timeline set at = '2020-01-01' where order_id <> $1`, [ids[3]]);
  expect(await pages(1, { since: new Date('2020-01-02') })).toEqual([[], [], [], [ids[3]]]);
  expect((await pages(2, { since: new Date('2020-01-01') })).flat()).toEqual(ids);
});

test('a row comes with what its workflow must agree with', async () => {
  const { db } = database;
  const before = await insertedOrder(db, { webhookUrl: 'https://shop.example/hook' });
  const after = go(before, 'signup_started', 'declined', 'cancel');
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
      pendingWebhooks: 2,
    },
  ]);
});
