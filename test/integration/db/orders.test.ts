import { FIRST_ID, findLeftToDo, findWaitingOrders, readOrders } from '../../../src/db/list-orders';
import { findOrder, commitChange } from '../../../src/db/orders';
import { decide } from '../../../src/domain/order';
import { useDatabase } from '../../support/database';
import { applyEvents } from '../../support/domain-orders';
import { copyOrder } from '../../support/many-orders';
import { insertNewOrder, newSeller, saveChanges } from '../../support/new-orders';

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

const WEBHOOK = { id: '3c1f0a52-8a3e-8e63-ad0a-52f1f6f0a111', sequence: 1, body: '{}' };

/** A new order and a change of it. */
async function newChange() {
  const order = await insertNewOrder(database.db);
  const request = { event: 'failed', actor: 'checkout', channel: 'api', reason: null } as const;
  const change = decide(order, request, new Date().toISOString());
  if (typeof change === 'string') throw new Error(change);
  return { id: order.id, change };
}

test('a change that does not build on the version of the row is not saved', async () => {
  const { id, change } = await newChange();
  expect(await commitChange(database.db, id, { ...change, version: 3 }, WEBHOOK)).toBeUndefined();
  expect(await commitChange(database.db, id, { ...change, version: 1 }, WEBHOOK)).toBeUndefined();
  expect((await findOrder(database.db, id))!.changes).toHaveLength(1);
  expect((await database.db.query('select from webhook_event where order_id = $1', [id])).rowCount).toBe(0);
});

test('one of two changes that build on the same version is saved', async () => {
  const { id, change } = await newChange();
  const saves = await Promise.all(Array.from({ length: 8 }, () => commitChange(database.db, id, change)));
  expect(saves.filter(Boolean)).toEqual([{ isPending: false }]);
  expect((await findOrder(database.db, id))!.changes).toHaveLength(2);
});

/** Inserts orders of a seller, the first one an hour ago, and each further one a second later. Returns their ids. */
async function insertOrders(sellerId: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let nth = 0; nth < count; nth++) {
    const { id } = await insertNewOrder(database.db, { sellerId });
    await database.db.query(
      `update start_request set created_at = now() - interval '1 hour' + $2 * interval '1 second' where order_id = $1`,
      [id, nth],
    );
    ids.push(id);
  }
  return ids;
}

const HALF_AN_HOUR = 1_800_000;

test('sellers take turns, however many orders one of them has', async () => {
  const large = await insertOrders(await newSeller(database.db), 5);
  const small = await insertOrders(await newSeller(database.db), 2);
  const first = (await findWaitingOrders(database.db, HALF_AN_HOUR, 4)).map(({ id }) => id);
  expect(first).toEqual([large[0], small[0], large[1], small[1]]);
  expect(await findWaitingOrders(database.db, HALF_AN_HOUR, 100)).toHaveLength(7);
  expect(await findWaitingOrders(database.db, 48 * HALF_AN_HOUR, 100)).toEqual([]);
});
