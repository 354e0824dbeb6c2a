import { upsertPaymentTerm } from '../../../src/db/applications';
import {
  closePaidPayments,
  findLastPayment,
  insertPayment,
  leasePaymentsToReverse,
  recordPaymentStatus,
} from '../../../src/db/payments';
import { holdTransaction, statementsWaiting, useDatabase } from '../../support/database';
import { until } from '../../support/until';
import { insertNewOrder, insertPaymentToReverse, saveHistory } from '../../support/new-orders';
import { applyEvents } from '../../support/order-histories';

const database = useDatabase('test');

const MINUTE = 60_000;
const RETRY = { firstMs: MINUTE, maxMs: 15 * MINUTE };

const idsOf = (payments: readonly { id: string }[]) => payments.map(({ id }) => id);

test('a payment to reverse is leased to one worker, and one that fails does not hold up a new one', async () => {
  const { db } = database;
  const failing = await insertPaymentToReverse(db);
  const leases = await Promise.all([1, 2].map(() => leasePaymentsToReverse(db, 1, RETRY)));
  expect(leases.flatMap(idsOf)).toEqual([failing]);
  await db.query('update payment set next_reversal_at = now()');
  const fresh = await insertPaymentToReverse(db);
  expect(idsOf(await leasePaymentsToReverse(db, 1, RETRY))).toEqual([fresh]);
  expect(idsOf(await leasePaymentsToReverse(db, 1, RETRY))).toEqual([failing]);
  expect(await leasePaymentsToReverse(db, 1, RETRY)).toEqual([]);
});

test('the time until a payment is reversed again doubles, up to the maximum', async () => {
  const { db } = database;
  await insertPaymentToReverse(db);
  const minutes: number[] = [];
  for (let attempt = 0; attempt < 6; attempt += 1) {
    await leasePaymentsToReverse(db, 1, RETRY);
    const { rows } = await db.query<{ minutes: number }>(
      'select round(extract(epoch from next_reversal_at - now()) / 60)::integer as minutes from payment',
    );
    minutes.push(rows[0]!.minutes);
    await db.query('update payment set next_reversal_at = now()');
  }
  expect(minutes).toEqual([1, 2, 4, 8, 15, 15]);
});

test('a payment that is started while the result of another is recorded is refused, and both end', async () => {
  const { db } = database;
  const { order, changes } = await insertNewOrder(db);
  await saveHistory(db, applyEvents({ order, changes }, 'signup_started'));
  await upsertPaymentTerm(db, order.id, 'PAY_NOW');
  const browser = { browserDigest: Buffer.alloc(32), ownDigests: [] };
  expect(await insertPayment(db, order.id, 'bank', browser, 1000)).toBe(true);
  const held = await holdTransaction(db, 'select from orders where id = $1 for update', [order.id]);
  const recorded = recordPaymentStatus(db, (await findLastPayment(db, order.id))!.id, 'paid', 1000);
  await until(async () => (await statementsWaiting(db, 'recorded')) === 1, 'the result waits for the order');
  expect(await insertPayment(db, order.id, 'bank', browser, 1000)).toBe(false);
  await held.rollback();
  await recorded;
  expect((await findLastPayment(db, order.id))?.status).toBe('paid');
});

test('a payment that is started while a webhook attempt is recorded holds nothing that the attempt needs', async () => {
  const { db } = database;
  const { order, changes } = await insertNewOrder(db);
  await saveHistory(db, applyEvents({ order, changes }, 'signup_started'));
  await upsertPaymentTerm(db, order.id, 'PAY_NOW');
  const attempt = await holdTransaction(db, 'select from orders where id = $1 for update', [order.id]);
  const started = insertPayment(db, order.id, 'bank', { browserDigest: Buffer.alloc(32), ownDigests: [] }, 1000);
  await until(async () => (await statementsWaiting(db)) === 1, 'the payment waits for the order');
  await attempt.query('update order_work set delivery_lease_until = null where order_id = $1', [order.id]);
  await attempt.commit();
  expect(await started).toBe(true);
});

test('paid payments of complete orders are locked by their ids, so that two workers never wait for each other', async () => {
  const { db } = database;
  for (let made = 0; made < 2; made += 1) await insertPaymentToReverse(db);
  await db.query(`update orders set status = 'SUCCESSFUL'`);
  const { rows } = await db.query<{ id: string }>(`update payment set status = 'paid' returning id`);
  const [first, last] = idsOf(rows).sort() as [string, string];
  // Where Postgres reads the rows from, the first one now comes last.
  await db.query('update payment set started_at = started_at where id = $1', [first]);
  const held = await holdTransaction(db, 'select from payment where id = $1 for update', [first]);
  const closing = closePaidPayments(db);
  await until(async () => (await statementsWaiting(db)) === 1, 'it waits for the first payment');
  await db.query('select from payment where id = $1 for update nowait', [last]);
  await held.rollback();
  await closing;
  expect((await db.query('select from payment where closed_at is null')).rowCount).toBe(0);
});

test('a payment in progress is found even if the clock was set back after an earlier one', async () => {
  const { db } = database;
  const { order } = await insertNewOrder(db);
  await db.query(
    `insert into payment (order_id, bank, status, started_at, closed_at)
     values ($1, 'first', 'cancelled', now(), now()), ($1, 'second', 'pending', now() - interval '1 minute', null)`,
    [order.id],
  );
  expect(await findLastPayment(db, order.id)).toMatchObject({ bank: 'second', status: 'pending' });
});

test('a late report that a payment is pending does not undo the approval of its customer', async () => {
  const { db } = database;
  const { order } = await insertNewOrder(db);
  await db.query("insert into payment (order_id, bank) values ($1, 'oak')", [order.id]);
  const { id } = (await findLastPayment(db, order.id))!;
  for (const status of ['processing', 'pending'] as const) await recordPaymentStatus(db, id, status, 1000);
  expect((await findLastPayment(db, order.id))?.status).toBe('processing');
  await recordPaymentStatus(db, id, 'refused', 1000);
  expect((await findLastPayment(db, order.id))?.status).toBe('refused');
});

test('no payment is started once the expiry of its order is due', async () => {
  const { db } = database;
  const history = await insertNewOrder(db, { expiresAt: new Date(Date.now() - 1000).toISOString() });
  const { id } = history.order;
  await saveHistory(db, applyEvents(history, 'signup_started'));
  await upsertPaymentTerm(db, id, 'PAY_NOW');
  const browser = { browserDigest: Buffer.alloc(32), ownDigests: [] };
  expect(await insertPayment(db, id, 'oak', browser, 1000)).toBe(false);
  await db.query("update orders set expires_at = now() + interval '1 minute'");
  expect(await insertPayment(db, id, 'oak', browser, 1000)).toBe(true);
});

test('a payment that becomes paid after its order was completed in another way is still to be reversed', async () => {
  const { db } = database;
  const history = await insertNewOrder(db);
  const { id } = history.order;
  await saveHistory(db, applyEvents(history, 'signup_started', 'approved'));
  await db.query("insert into payment (order_id, bank, status) values ($1, 'oak', 'processing')", [id]);
  const completed = { event: 'completed', actor: 'checkout', channel: 'api', reason: null } as const;
  await saveHistory(db, applyEvents(history, 'signup_started', 'approved', completed));
  const payment = (await findLastPayment(db, id))!;
  await recordPaymentStatus(db, payment.id, 'paid', 1000);
  expect(idsOf(await leasePaymentsToReverse(db, 1, RETRY))).toEqual([payment.id]);
  await recordPaymentStatus(db, payment.id, 'refunded', 1000);
  expect((await findLastPayment(db, id))?.status).toBe('refunded');
});
