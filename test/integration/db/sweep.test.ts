import { choosePaymentTerm, recordAgreement } from '../../../src/db/applications';
import type { Db } from '../../../src/db/pool';
import { finishSettled, leaseDueOrders, markRunning, sweepSoon } from '../../../src/db/order-work';
import { type TestDatabase, createDatabase } from '../../support/database';
import { go, insertedOrder, saveHistory, sweptIn as sweptInMs } from './new-orders';

let database: TestDatabase;
let db: Db;
beforeEach(async () => {
  database = await createDatabase();
  db = database.db;
});
afterEach(() => database.drop());

const inMs = (ms: number) => ({ sweepAfterMs: ms });
const dueIds = async (limit = 10, leaseMs = 60_000) =>
  (await leaseDueOrders(db, limit, leaseMs)).map(({ order }) => order.id);
const sweptIn = async (id: string) => {
  const ms = await sweptInMs(db, id);
  return ms === null ? null : ms / 1000;
};

test('hands out the orders that are due, as they are stored, and no others', async () => {
  const due = await insertedOrder(db, {}, inMs(-1000));
  await insertedOrder(db, {}, inMs(60_000));
  const leased = await leaseDueOrders(db, 10, 60_000);
  expect(leased).toEqual([
    {
      ...due,
      attachments: { source: null, metaData: null },
      started: false,
      settled: false,
      resendPending: false,
      applicationPending: false,
      agreementPending: false,
    },
  ]);
});

test('one whose customer has agreed meanwhile stays due, though its workflow is found running', async () => {
  const history = await insertedOrder(db);
  const { id } = history.order;
  await choosePaymentTerm(db, id, 'PAY_NOW');
  await saveHistory(db, go(history, 'signup_started', 'approved'), 600_000);
  await recordAgreement(db, id, new Date(), 5000);
  await markRunning(db, id, 600_000);
  expect(await sweptIn(id)).toBeLessThan(6);
});

test('hands out the longest due first, up to the limit', async () => {
  const second = await insertedOrder(db, {}, inMs(-2000));
  const first = await insertedOrder(db, {}, inMs(-3000));
  const third = await insertedOrder(db, {}, inMs(-1000));
  expect((await dueIds(2)).sort()).toEqual([first.order.id, second.order.id].sort());
  expect(await dueIds(2)).toEqual([third.order.id]);
});

test('hands an order to one sweep only until its lease is over', async () => {
  const { order } = await insertedOrder(db, {}, inMs(-1000));
  expect(await dueIds(10, 200)).toEqual([order.id]);
  expect(await dueIds(10, 200)).toEqual([]);
  await new Promise((resolve) => setTimeout(resolve, 250));
  expect(await dueIds(10, 200)).toEqual([order.id]);
});

test('ten sweeps at once get every order, and none twice', async () => {
  for (let count = 0; count < 30; count++) await insertedOrder(db, {}, inMs(-1000));
  const batches = await Promise.all(Array.from({ length: 10 }, () => dueIds(5)));
  const rest = await dueIds(30);
  const all = [...batches.flat(), ...rest];
  expect(all).toHaveLength(30);
  expect(new Set(all).size).toBe(30);
});

test('a sweep does not wait for an order that another transaction is saving', async () => {
  const { order } = await insertedOrder(db, {}, inMs(-1000));
  const saver = await db.connect();
  await saver.query('begin');
  await saver.query('select from orders where id = $1 for update', [order.id]);
  await saver.query('select from order_work where order_id = $1 for update', [order.id]);
  expect(await dueIds()).toEqual([]);
  await saver.query('rollback');
  saver.release();
  expect(await dueIds()).toEqual([order.id]);
});

test('an order that settled while it was scheduled is handed out as settled, and then forgotten', async () => {
  const before = await insertedOrder(db, { webhookUrl: null }, inMs(-1000));
  await db.query(`update orders set status = 'UNSUCCESSFUL' where id = $1`, [before.order.id]);
  expect(await leaseDueOrders(db, 10, 60_000)).toMatchObject([{ settled: true }]);
  await finishSettled(db, before.order.id);
  expect(await sweptIn(before.order.id)).toBeNull();
});

test('an order that is not settled keeps its work', async () => {
  const { order } = await insertedOrder(db, {}, inMs(60_000));
  await finishSettled(db, order.id);
  expect(await sweptIn(order.id)).not.toBeNull();
});

test.each([
  ['a new order after the given time', 0, 600],
  ['an order of an hour after an hour', 3600, 3600],
  ['an order of a month after a day', 30 * 86_400, 86_400],
])('looks after %s again', async (_, ageSeconds, expected) => {
  const createdAt = new Date(Date.now() - ageSeconds * 1000).toISOString();
  const { order } = await insertedOrder(db, { createdAt }, inMs(-1000));
  await markRunning(db, order.id, 600_000);
  expect(Math.abs((await sweptIn(order.id))! - expected)).toBeLessThan(5);
  const { rows } = await db.query('select started from order_work where order_id = $1', [order.id]);
  expect(rows).toEqual([{ started: true }]);
});

test('leaves an order alone that was settled while its start was acknowledged', async () => {
  const before = await insertedOrder(db, { webhookUrl: null });
  await saveHistory(db, go(before, 'failed'), 1000);
  await markRunning(db, before.order.id, 600_000);
  expect(await sweptIn(before.order.id)).toBeNull();
});

test('looks soon after an order whose workflow is about to stop', async () => {
  const { order } = await insertedOrder(db, {}, inMs(60_000));
  await sweepSoon(db, order.id);
  expect(Math.abs((await sweptIn(order.id))! - 2)).toBeLessThan(1);
});

test('leaves a settled order alone that somebody wants looked after, and not one with a webhook to send', async () => {
  const sweptAfter = async (webhookUrl: string | null) => {
    const before = await insertedOrder(db, { webhookUrl });
    await saveHistory(db, go(before, 'failed'), 60_000);
    await sweepSoon(db, before.order.id);
    return sweptIn(before.order.id);
  };
  expect(await sweptAfter(null)).toBeNull();
  expect(Math.abs((await sweptAfter('https://shop.example/hook'))! - 2)).toBeLessThan(1);
});
