import {
  findLastPayment,
  findUnfinishedCheckouts,
  insertPayment,
  recordPaymentStatus,
} from '../../../../src/checkout/db/payments';
import { useDatabase } from '../../../support/database';
import { newCheckout } from '../../../support/new-applications';
import { insertNewOrder } from '../../../support/new-orders';

/** Customers of sandbox and live accounts can pay now. */
const PAY_NOW = { sandbox: true, live: true };

const database = useDatabase('test');

const BROWSER = { browserDigest: Buffer.alloc(32), ownDigests: [] };

/** A PENDING order whose customer has chosen to pay now. */
const payingOrder = () => newCheckout(database.db, { term: 'PAY_NOW' });

test('of payments that are started at the same time, one is recorded', async () => {
  const { db } = database;
  const { id } = await payingOrder();
  const started = await Promise.all(['oak', 'harbour', 'oak'].map((bank) => insertPayment(db, id, bank, BROWSER)));
  expect(started.filter(Boolean)).toHaveLength(1);
  expect((await db.query('select from payment')).rowCount).toBe(1);
});

test('a payment is started after a payment that is over, and not after one that is paid', async () => {
  const { db } = database;
  const { id } = await payingOrder();
  const results: boolean[] = [];
  for (const status of ['refused', 'cancelled', 'paid'] as const) {
    results.push(await insertPayment(db, id, 'oak', BROWSER));
    await recordPaymentStatus(db, (await findLastPayment(db, id))!.id, status);
  }
  expect([...results, await insertPayment(db, id, 'oak', BROWSER)]).toEqual([true, true, true, false]);
});

test('the checkout of a payment is unfinished some seconds after its start, until the payment is over', async () => {
  const { db } = database;
  const { id } = await payingOrder();
  await insertPayment(db, id, 'oak', BROWSER);
  expect(await findUnfinishedCheckouts(db, 10, PAY_NOW)).toEqual([]);
  await db.query("update payment set started_at = now() - interval '2 minutes'");
  const payment = (await findLastPayment(db, id))!;
  for (const status of ['pending', 'processing', 'paid'] as const) {
    await recordPaymentStatus(db, payment.id, status);
    expect(await findUnfinishedCheckouts(db, 10, PAY_NOW)).toMatchObject([{ id }]);
  }
  await recordPaymentStatus(db, payment.id, 'refunded');
  expect(await findUnfinishedCheckouts(db, 10, PAY_NOW)).toEqual([]);
});

test('a payment in progress is found even if the clock was set back after an earlier one', async () => {
  const { db } = database;
  const order = await insertNewOrder(db);
  await db.query(
    `insert into payment (order_id, bank, status, started_at, closed_at)
     values ($1, 'first', 'cancelled', now(), now()), ($1, 'second', 'pending', now() - interval '1 minute', null)`,
    [order.id],
  );
  expect(await findLastPayment(db, order.id)).toMatchObject({ bank: 'second', status: 'pending' });
});

test('a late report that a payment is pending does not undo the approval of its customer', async () => {
  const { db } = database;
  const order = await insertNewOrder(db);
  await db.query("insert into payment (order_id, bank) values ($1, 'oak')", [order.id]);
  const { id } = (await findLastPayment(db, order.id))!;
  for (const status of ['processing', 'pending'] as const) await recordPaymentStatus(db, id, status);
  expect((await findLastPayment(db, order.id))?.status).toBe('processing');
  await recordPaymentStatus(db, id, 'refused');
  expect((await findLastPayment(db, order.id))?.status).toBe('refused');
});
