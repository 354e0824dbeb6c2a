import { toStatusWebhooks } from '../../../src/contracts/status-webhooks';
import { recordAgreement, storeApplication, upsertPaymentTerm } from '../../../src/db/applications';
import { endDeliveryLease, leaseDelivery } from '../../../src/db/delivery-lease';
import { type DueKind, leaseDueOrders, sellersWithBacklog } from '../../../src/db/due-orders';
import {
  lastRequestToConfirm,
  finishSettled,
  makeDue,
  makeDueForRepair,
  makeDueForResends,
  makeDueIfOpen,
  makeDueIfSettled,
  makeDueIfStatusDiffers,
  makeDueIfWebhookOverdue,
  makeDueSoon,
  makeDueUnlessStuckRecently,
  markRunning,
  markStuck,
} from '../../../src/db/order-work';
import { findOrder } from '../../../src/db/find-orders';
import { type Db, inTransaction } from '../../../src/db/pool';
import { insertOrder } from '../../../src/db/insert-order';
import { saveOrder } from '../../../src/db/save-order';
import { toWorkflowOrderHistory } from '../../../src/domain/order';
import type { OrderEvent } from '../../../src/domain/status';
import { requestResends } from '../../../src/db/webhook-events';
import { holdTransaction, statementsWaiting, useDatabase } from '../../support/database';
import { until } from '../../support/until';
import { DELIVERED, lease, makeAttempt, orderWithWebhooks, record } from '../../support/new-attempts';
import { insertNewOrder, msUntilSweep, newOrder, saveHistory } from '../../support/new-orders';
import { applyEvents } from '../../support/order-histories';
import { queryPlan } from '../../support/query-plan';

const database = useDatabase('test');

const APPLICANT = {
  businessName: 'Bloggs Ltd',
  companyNumber: '01234567',
  email: 'joe@bloggs.example',
  monthlyTurnoverPence: 100_000,
};

/** The first webhook of an order. */
const eventOf = async (id: string): Promise<string> =>
  (await database.db.query<{ id: string }>('select id from webhook_event where order_id = $1', [id])).rows[0]!.id;

/** An APPROVED order whose customer has agreed: the sweep completes it after `sweepAfterMs`. Returns its id. */
async function insertAgreedOrder(sweepAfterMs: number, order: Parameters<typeof insertNewOrder>[1] = {}) {
  const history = await insertNewOrder(database.db, order);
  const { id } = history.order;
  await upsertPaymentTerm(database.db, id, 'PAY_NOW');
  await saveHistory(database.db, applyEvents(history, 'signup_started', 'approved'), 600_000);
  const browser = Buffer.alloc(32);
  await database.db.query('update application set browser_digest = $2 where order_id = $1', [id, browser]);
  await recordAgreement(database.db, id, [browser], new Date(), sweepAfterMs);
  return id;
}

const dueAfter = (sweepAfterMs: number) => insertNewOrder(database.db, {}, { sweepAfterMs });
const leaseIds = async (limit = 10, leaseMs = 60_000, kind: DueKind = 'starts') =>
  (await leaseDueOrders(database.db, kind, limit, leaseMs)).map(({ order }) => order.id);

async function secondsUntilSweep(id: string): Promise<number> {
  const ms = await msUntilSweep(database.db, id);
  if (ms === null) throw new Error('the sweep has no work for the order');
  return ms / 1000;
}

/** Moves the times of all orders into the past, as if the seconds had passed. */
async function letSecondsPass(seconds: number): Promise<void> {
  await database.db.query(
    `update order_work set sweep_at = sweep_at - $1 * interval '1 s',
       delivery_lease_until = delivery_lease_until - $1 * interval '1 s'`,
    [seconds],
  );
}

describe('the sweep', () => {
  test('leases the orders that are due, with their stored state, and no others', async () => {
    const due = await dueAfter(-1000);
    await dueAfter(60_000);
    expect(await leaseDueOrders(database.db, 'starts', 10, 60_000)).toEqual([
      {
        ...due,
        attachments: { source: null, metaData: null },
        started: false,
        settled: false,
        resendPending: false,
        decisionPending: false,
        agreementPending: false,
        webhookOverdue: false,
        stuckRecently: false,
        savedRecently: expect.any(Boolean),
        requests: 0,
      },
    ]);
  });

  test('leases the orders that have been due the longest first, up to the limit', async () => {
    const second = await dueAfter(-2000);
    const first = await dueAfter(-3000);
    const third = await dueAfter(-1000);
    expect((await leaseIds(2)).sort()).toEqual([first.order.id, second.order.id].sort());
    expect(await leaseIds(2)).toEqual([third.order.id]);
  });

  test('does not lease an order again until its lease expires', async () => {
    const { order } = await dueAfter(-1000);
    expect(await leaseIds(10, 60_000)).toEqual([order.id]);
    await letSecondsPass(5);
    expect(await leaseIds(10, 60_000)).toEqual([]);
    await letSecondsPass(60);
    expect(await leaseIds(10, 60_000)).toEqual([order.id]);
  });

  test('serves sellers in turn, so that one with many new orders does not hold up another', async () => {
    const busy = await dueAfter(-9000);
    const { sellerId } = busy.order;
    for (let age = 8000; age > 4000; age -= 1000) {
      await insertOrder(database.db, newOrder(sellerId, {}, { sweepAfterMs: -age }));
    }
    const other = await dueAfter(-1000);
    expect((await leaseIds(2)).sort()).toEqual([busy.order.id, other.order.id].sort());
  });

  test("knows by the clock of Postgres whether an order was saved recently, whatever the worker's clock said", async () => {
    const history = await insertNewOrder(database.db);
    const saved = applyEvents(history, 'signup_started');
    saved.changes.at(-1)!.at = new Date(Date.now() + 3_600_000).toISOString();
    await saveHistory(database.db, saved, -1000);
    const isSavedRecently = async () => (await leaseDueOrders(database.db, 'checks', 1, 0))[0]!.savedRecently;
    expect(await isSavedRecently()).toBe(true);
    await database.db.query(`update order_work set saved_at = saved_at - interval '31 seconds'`);
    expect(await isSavedRecently()).toBe(false);
  });

  test('leases what people wait for separately from new orders and checks', async () => {
    const fresh = await dueAfter(-1000);
    const history = await insertNewOrder(database.db, { webhookUrl: 'https://shop.example/hook' });
    await saveHistory(database.db, applyEvents(history, 'signup_started'), -1000);
    const { id } = history.order;
    expect(await leaseIds(10, 0, 'requests')).toEqual([]);
    expect(await leaseIds(10, 0, 'checks')).toEqual([id]);
    const { rows } = await database.db.query<{ id: string }>('select id from webhook_event where order_id = $1', [id]);
    await requestResends(database.db, [rows[0]!.id], -1000);
    expect(await leaseIds(10, 0, 'checks')).toEqual([]);
    expect(await leaseIds(10, 0, 'requests')).toEqual([id]);
    expect(await leaseIds(10, 0, 'starts')).toEqual([fresh.order.id]);
  });

  test('knows the sellers whose new orders have waited for too long', async () => {
    const orders = [await dueAfter(1000), await dueAfter(1000), await dueAfter(1000)].map(({ order }) => order);
    const withBacklog = () => sellersWithBacklog(database.db, 3_600_000);
    expect(await withBacklog()).toEqual([]);
    const [first, second] = orders;
    await database.db.query(
      `update order_work set waiting_since = now() - interval '61 minutes' where order_id = any($1)`,
      [[first!.id, second!.id]],
    );
    expect((await withBacklog()).sort()).toEqual([first!.sellerId, second!.sellerId].sort());
    await markRunning(database.db, first!.id, 600_000, { version: 1, passedOn: 0 });
    expect(await withBacklog()).toEqual([second!.sellerId]);
  });

  test('leases every order once if ten sweeps run concurrently', async () => {
    for (let count = 0; count < 30; count++) await dueAfter(-1000);
    const batches = await Promise.all(Array.from({ length: 10 }, () => leaseIds(5)));
    const ids = [...batches.flat(), ...(await leaseIds(30))];
    expect(ids).toHaveLength(30);
    expect(new Set(ids).size).toBe(30);
  });

  test('does not wait for an order that another transaction saves', async () => {
    const { order } = await dueAfter(-1000);
    const saving = await holdTransaction(
      database.db,
      'select from orders o join order_work w on w.order_id = o.id where o.id = $1 for update',
      [order.id],
    );
    expect(await leaseIds()).toEqual([]);
    await saving.rollback();
    expect(await leaseIds()).toEqual([order.id]);
  });

  test('leases an order that settled in the meantime as settled, and then ends its work', async () => {
    const { order } = await insertNewOrder(database.db, { webhookUrl: null }, { sweepAfterMs: -1000 });
    await database.db.query(`update orders set status = 'UNSUCCESSFUL' where id = $1`, [order.id]);
    expect(await leaseDueOrders(database.db, 'starts', 10, 60_000)).toMatchObject([{ settled: true }]);
    await finishSettled(database.db, order.id, 1);
    expect(await msUntilSweep(database.db, order.id)).toBeNull();
  });

  test('keeps the work of an order that is not settled', async () => {
    const { order } = await dueAfter(60_000);
    await finishSettled(database.db, order.id, 1);
    expect(await msUntilSweep(database.db, order.id)).not.toBeNull();
  });
});

describe('marking an order as running', () => {
  test.each([
    ['a new order after the given time', 0, 600],
    ['an order that is an hour old after an hour', 3600, 3600],
    ['an order that is a month old after a day', 30 * 86_400, 86_400],
  ])('makes the sweep check %s', async (_, ageSeconds, expected) => {
    const createdAt = new Date(Date.now() - ageSeconds * 1000).toISOString();
    const { order } = await insertNewOrder(database.db, { createdAt }, { sweepAfterMs: -1000 });
    await markRunning(database.db, order.id, 600_000, { version: 1, passedOn: 0 });
    expect(Math.abs((await secondsUntilSweep(order.id)) - expected)).toBeLessThan(60);
    const { rows } = await database.db.query('select started from order_work where order_id = $1', [order.id]);
    expect(rows).toEqual([{ started: true }]);
  });

  test.each([
    ['payment', `insert into payment (order_id, bank) values ($1, 'oak')`],
    [
      'application',
      `insert into application (order_id, payment_term, submitted_at, browser_digest, business_name, company_number, email, monthly_turnover_pence)
       values ($1, 'PAY_LATER', now(), '', 'Bloggs Ltd', '01234567', 'joe@bloggs.example', 100000)`,
    ],
  ])('makes the sweep check an old order as soon as a new one while its %s is undecided', async (_, insert) => {
    const createdAt = new Date(Date.now() - 86_400_000).toISOString();
    const { order } = await insertNewOrder(database.db, { createdAt });
    await database.db.query(insert, [order.id]);
    await markRunning(database.db, order.id, 600_000, { version: 1, passedOn: 0 });
    expect(Math.abs((await secondsUntilSweep(order.id)) - 600)).toBeLessThan(60);
  });

  test.each([
    ['after its expiry', '2 hours', 7200 + 600],
    ['as soon as a new one if it should have expired', '-2 hours', 600],
  ])('makes the sweep check an old order %s', async (_, expiry, expected) => {
    const createdAt = new Date(Date.now() - 86_400_000).toISOString();
    const { order } = await insertNewOrder(database.db, { createdAt });
    await database.db.query(`update orders set expires_at = now() + $2::interval where id = $1`, [order.id, expiry]);
    await markRunning(database.db, order.id, 600_000, { version: 1, passedOn: 0 });
    expect(Math.abs((await secondsUntilSweep(order.id)) - expected)).toBeLessThan(60);
  });

  test('makes the sweep check an old closed order daily, although it has a time of expiry', async () => {
    const { order } = await orderWithWebhooks(database.db, 'failed');
    await database.db.query(
      `update orders set created_at = now() - interval '30 days', expires_at = now() - interval '2 hours' where id = $1`,
      [order.id],
    );
    await markRunning(database.db, order.id, 600_000, { version: 2, passedOn: 0 });
    expect(Math.abs((await secondsUntilSweep(order.id)) - 86_400)).toBeLessThan(60);
  });

  test('makes the sweep check an old order hourly while a resend is requested', async () => {
    const createdAt = new Date(Date.now() - 30 * 86_400_000).toISOString();
    const { order, ids } = await orderWithWebhooks(database.db, 'failed');
    await database.db.query('update orders set created_at = $2 where id = $1', [order.id, createdAt]);
    await database.db.query(`update webhook_event set state = 'exhausted' where order_id = $1`, [order.id]);
    await requestResends(database.db, ids, 0);
    const passedOn = await lastRequestToConfirm(database.db, order.id, 'resends');
    await markRunning(database.db, order.id, 600_000, { version: 2, passedOn });
    expect(Math.abs((await secondsUntilSweep(order.id)) - 3600)).toBeLessThan(60);
  });

  test('adds no work for an order that settled before its start was acknowledged', async () => {
    const history = await insertNewOrder(database.db, { webhookUrl: null });
    await saveHistory(database.db, applyEvents(history, 'failed'), 1000);
    await finishSettled(database.db, history.order.id, 2);
    await markRunning(database.db, history.order.id, 600_000, { version: 1, passedOn: 0 });
    expect(await msUntilSweep(database.db, history.order.id)).toBeNull();
  });

  test('does not postpone the check of an order whose customer has agreed in the meantime', async () => {
    const id = await insertAgreedOrder(5000);
    await markRunning(database.db, id, 600_000, { version: 1, passedOn: 0 });
    expect(await secondsUntilSweep(id)).toBeLessThan(6);
  });
});

describe('a save that only Postgres is known to have', () => {
  const workOf = async (id: string) =>
    (await database.db.query('select proven_sweep_at from order_work where order_id = $1', [id])).rows;

  test('is checked within a minute, unless a delivery attempt of its webhook shows that the workflow has it', async () => {
    const history = await insertNewOrder(database.db, { webhookUrl: 'https://shop.example/hook' });
    const { id } = history.order;
    const save = async (...events: OrderEvent[]) => {
      const stored = await findOrder(database.db, id);
      const saved = toWorkflowOrderHistory(applyEvents(history, ...events));
      const webhooks = toStatusWebhooks(stored!, saved, 'https://checkout.example');
      const times = { unprovenMs: 40_000, checkAfterMs: 600_000 };
      return (await saveOrder(database.db, saved, webhooks, times)).pending.at(-1)!.id;
    };
    const first = await save('signup_started');
    expect(await secondsUntilSweep(id)).toBeLessThan(41);
    const second = await save('signup_started', 'approved');
    const attempt = await leaseDelivery(database.db, first, 1, 25_000);
    expect(await secondsUntilSweep(id)).toBeLessThan(41);
    await endDeliveryLease(database.db, first, attempt!);
    await leaseDelivery(database.db, second, 1, 25_000);
    expect(await secondsUntilSweep(id)).toBeGreaterThan(500);
    expect(await workOf(id)).toEqual([{ proven_sweep_at: null }]);
  });

  test.each([
    [
      'is marked as running at an earlier version',
      (id: string) => markRunning(database.db, id, 600_000, { version: 1, passedOn: 0 }),
    ],
    [
      'gets a delivery attempt of an earlier webhook',
      async (id: string) => {
        const { rows } = await database.db.query<{ id: string }>('select id from webhook_event where order_id = $1', [
          id,
        ]);
        await leaseDelivery(database.db, rows[0]!.id, 1, 1000);
      },
    ],
  ])('is checked within a minute, even if its order %s while it is made', async (_, meanwhile) => {
    const history = await insertNewOrder(database.db, { webhookUrl: 'https://shop.example/hook' });
    const first = applyEvents(history, 'signup_started');
    await saveHistory(database.db, first);
    const client = await database.db.connect();
    await client.query('begin');
    const approved = toWorkflowOrderHistory(applyEvents(first, 'approved'));
    const webhooks = toStatusWebhooks(
      (await findOrder(database.db, history.order.id))!,
      approved,
      'https://checkout.example',
    );
    const times = { unprovenMs: 40_000, checkAfterMs: 600_000 };
    await saveOrder(client as unknown as Parameters<typeof saveOrder>[0], approved, webhooks, times);
    const done = meanwhile(history.order.id);
    await until(
      async () => (await statementsWaiting(database.db, 'order_work')) === 1,
      'the statement waits for the save',
    );
    await client.query('commit');
    client.release();
    await done;
    const { rows } = await database.db.query(
      `select proven_sweep_at is not null as unproven, sweep_at < now() + interval '1 minute' as soon from order_work`,
    );
    expect(rows).toEqual([{ unproven: true, soon: true }]);
  });

  test('stays due if the order is marked as running at an earlier version', async () => {
    const history = await insertNewOrder(database.db, { webhookUrl: null });
    const { id } = history.order;
    await saveHistory(database.db, applyEvents(history, 'signup_started'), 40_000);
    await markRunning(database.db, id, 600_000, { version: 1, passedOn: 0 });
    expect(await secondsUntilSweep(id)).toBeLessThan(41);
    await markRunning(database.db, id, 600_000, { version: 2, passedOn: 0 });
    expect(await secondsUntilSweep(id)).toBeGreaterThan(500);
  });
});

test('marking an order as running does not postpone its check if it has been settled in the meantime', async () => {
  const history = await insertNewOrder(database.db, { webhookUrl: null });
  const { id } = history.order;
  await saveHistory(database.db, applyEvents(history, 'failed'), 60_000);
  await finishSettled(database.db, id, 2);
  await makeDueIfSettled(database.db, [id]);
  // The sweep leased the order before it was settled.
  await markRunning(database.db, id, 600_000, { version: 2, passedOn: 0 });
  expect(await secondsUntilSweep(id)).toBeLessThan(1);
});

describe('marking an order as running after a signal', () => {
  test('postpones the check of an order whose workflow has the last save, and of no other', async () => {
    const history = await insertNewOrder(database.db, { webhookUrl: null });
    const { id } = history.order;
    await saveHistory(database.db, applyEvents(history, 'signup_started'), 40_000);
    await markRunning(database.db, id, 600_000, { version: null, passedOn: 0 });
    expect(await secondsUntilSweep(id)).toBeLessThan(41);
    await markRunning(database.db, id, 40_000, { version: 2, passedOn: 0 });
    await markRunning(database.db, id, 600_000, { version: null, passedOn: 0 });
    expect(await secondsUntilSweep(id)).toBeGreaterThan(500);
  });
});

describe('a list of orders with open runs', () => {
  test('makes the sweep check the settled ones now, and no others', async () => {
    const open = await dueAfter(60_000);
    const history = await insertNewOrder(database.db, { webhookUrl: null });
    await saveHistory(database.db, applyEvents(history, 'failed'), 60_000);
    await finishSettled(database.db, history.order.id, 2);
    await makeDueIfSettled(database.db, [open.order.id, history.order.id]);
    expect(await leaseDueOrders(database.db, 'checks', 10, 60_000)).toMatchObject([
      { order: { id: history.order.id }, settled: true },
    ]);
    expect(await leaseIds(10, 60_000, 'starts')).toEqual([]);
  });

  test('does not wait for a settled order that another transaction changes', async () => {
    const history = await insertNewOrder(database.db, { webhookUrl: null });
    const { id } = history.order;
    await saveHistory(database.db, applyEvents(history, 'failed'), 60_000);
    await finishSettled(database.db, id, 2);
    const changing = await holdTransaction(database.db, 'select from orders where id = $1 for update', [id]);
    await makeDueIfSettled(database.db, [id]);
    expect(await msUntilSweep(database.db, id)).toBeNull();
    await changing.rollback();
    await makeDueIfSettled(database.db, [id]);
    expect(await msUntilSweep(database.db, id)).not.toBeNull();
  });
});

test('a repair that waits for a resend of the same settled order holds nothing that the resend needs', async () => {
  const history = await insertNewOrder(database.db, { webhookUrl: null });
  const { id } = history.order;
  await saveHistory(database.db, applyEvents(history, 'failed'), 60_000);
  await finishSettled(database.db, id, 2);
  const resend = await holdTransaction(database.db, 'select from orders where id = $1 for update', [id]);
  const repairing = makeDueForRepair(database.db, id);
  await until(async () => (await statementsWaiting(database.db, 'order_work')) === 1, 'the repair waits');
  await resend.query('insert into order_work (order_id, started, sweep_at) values ($1, true, now())', [id]);
  await resend.commit();
  await repairing;
  expect(await msUntilSweep(database.db, id)).not.toBeNull();
});

test('a run that is about to stop and waits for a resend of its order holds nothing that the resend needs', async () => {
  const { order } = await insertNewOrder(database.db);
  await database.db.query('delete from order_work where order_id = $1', [order.id]);
  const resend = await holdTransaction(database.db, 'select from orders where id = $1 for update', [order.id]);
  const stopping = makeDueSoon(database.db, order.id);
  await until(async () => (await statementsWaiting(database.db, 'order_work')) === 1, 'the run waits');
  await resend.query('insert into order_work (order_id, started, sweep_at) values ($1, true, now())', [order.id]);
  await resend.commit();
  await stopping;
  expect(await msUntilSweep(database.db, order.id)).not.toBeNull();
});

describe('work of several orders is locked by their ids, so that two transactions never wait for each other:', () => {
  const webhooksOf = async (ids: readonly string[]) => Promise.all(ids.map(eventOf));
  const locking: Record<string, (db: Db, ids: string[]) => Promise<unknown>> = {
    makeDue,
    makeDueUnlessStuckRecently,
    makeDueIfOpen,
    makeDueIfStatusDiffers: (db, ids) =>
      makeDueIfStatusDiffers(
        db,
        ids,
        ids.map(() => 'APPROVED'),
      ),
    makeDueIfWebhookOverdue: (db) => makeDueIfWebhookOverdue(db, 10),
    makeDueForResends: async (db, ids) => {
      const events = await webhooksOf(ids);
      return inTransaction(db, (client) => makeDueForResends(client, events, 1000, 0));
    },
  };

  test.each(Object.entries(locking))('%s', async (_name, makeTheseDue) => {
    const { db } = database;
    const orders = [await orderWithWebhooks(db, 'signup_started'), await orderWithWebhooks(db, 'signup_started')];
    const [first, last] = orders.map(({ order }) => order.id).sort() as [string, string];
    await db.query(`update webhook_event set created_at = now() - interval '1 hour'`);
    // Where Postgres reads the rows from, the first one now comes last.
    await db.query(
      `with moved as (delete from order_work where order_id = $1 returning *) insert into order_work select * from moved`,
      [first],
    );
    await db.query(`update order_work set saved_at = null, sweep_at = now() + interval '1 hour'`);
    const held = await holdTransaction(db, 'select from order_work where order_id = $1 for update', [first]);
    const making = makeTheseDue(db, [last, first]);
    await until(async () => (await statementsWaiting(db, 'order_work')) === 1, 'it waits for the first order');
    await db.query('select from order_work where order_id = $1 for update nowait', [last]);
    await held.rollback();
    await making;
    expect(await msUntilSweep(db, first)).toBeLessThan(2000);
    expect(await msUntilSweep(db, last)).toBeLessThan(2000);
  });

  test('makeDueIfSettled', async () => {
    const { db } = database;
    const ids = [];
    for (let made = 0; made < 2; made += 1) {
      const history = await insertNewOrder(db, { webhookUrl: null });
      await saveHistory(db, applyEvents(history, 'failed'), 60_000);
      await finishSettled(db, history.order.id, 2);
      ids.push(history.order.id);
    }
    const [first, last] = ids.sort() as [string, string];
    await db.query('update orders set version = version where id = $1', [first]);
    const insert = 'insert into order_work (order_id, started, sweep_at) values ($1, true, now())';
    const held = await holdTransaction(db, insert, [first]);
    const making = makeDueIfSettled(db, [last, first]);
    await until(async () => (await statementsWaiting(db, 'order_work')) === 1, 'it waits for the first order');
    await held.query(insert, [last]);
    await held.commit();
    await making;
  });
});

describe('a request that comes while an earlier one is passed on', () => {
  test.each(['a resend', 'an application'])('is not postponed: %s', async (what) => {
    const history = await insertNewOrder(database.db, { webhookUrl: 'https://shop.example/hook' });
    const { id } = history.order;
    await upsertPaymentTerm(database.db, id, 'PAY_LATER');
    await saveHistory(database.db, applyEvents(history, 'signup_started'), 600_000);
    const kind = what === 'a resend' ? 'resends' : 'decision';
    const passedOn = await lastRequestToConfirm(database.db, id, kind);
    if (what === 'a resend') {
      await requestResends(database.db, [await eventOf(id)], 5000);
    } else {
      await storeApplication(database.db, id, {
        applicant: APPLICANT,
        browserDigest: Buffer.alloc(32),
        sweepAfterMs: 5000,
      });
    }
    await markRunning(database.db, id, 600_000, { version: 2, passedOn });
    expect(await secondsUntilSweep(id)).toBeLessThan(6);
    await saveHistory(database.db, applyEvents(history, 'signup_started', 'approved'), 600_000);
    expect(await secondsUntilSweep(id)).toBeLessThan(6);
    await markRunning(database.db, id, 600_000, {
      version: 3,
      passedOn: await lastRequestToConfirm(database.db, id, kind),
    });
    expect(await secondsUntilSweep(id)).toBeGreaterThan(500);
  });
});

test('passing on a resend leaves an agreement due', async () => {
  const id = await insertAgreedOrder(5000, { webhookUrl: 'https://shop.example/hook' });
  await requestResends(database.db, [await eventOf(id)], 5000);
  const passedOn = await lastRequestToConfirm(database.db, id, 'resends');
  await markRunning(database.db, id, 600_000, { version: 3, passedOn });
  expect(await secondsUntilSweep(id)).toBeLessThan(6);
});

test('passing on an application leaves a resend due, and the other way round', async () => {
  const history = await insertNewOrder(database.db, { webhookUrl: 'https://shop.example/hook' });
  const { id } = history.order;
  await upsertPaymentTerm(database.db, id, 'PAY_LATER');
  await saveHistory(database.db, applyEvents(history, 'signup_started'), 600_000);
  await requestResends(database.db, [await eventOf(id)], 5000);
  await storeApplication(database.db, id, {
    applicant: APPLICANT,
    browserDigest: Buffer.alloc(32),
    sweepAfterMs: 5000,
  });
  for (const kind of ['decision', 'resends'] as const) {
    const passedOn = await lastRequestToConfirm(database.db, id, kind);
    await markRunning(database.db, id, 600_000, { version: 2, passedOn });
    expect(await secondsUntilSweep(id)).toBeLessThan(6);
  }
});

test('the late acknowledgement of a request of a settled order is not taken for that of a later one', async () => {
  const { order, ids } = await orderWithWebhooks(database.db, 'failed');
  await makeAttempt(database.db, ids[0]!, DELIVERED);
  await requestResends(database.db, ids, 60_000);
  const passedOn = await lastRequestToConfirm(database.db, order.id, 'resends');
  await makeAttempt(database.db, ids[0]!, { ...DELIVERED, step: null });
  expect(await msUntilSweep(database.db, order.id)).toBeNull();
  await requestResends(database.db, ids, -1000);
  await markRunning(database.db, order.id, 600_000, { version: null, passedOn });
  expect(await leaseIds(10, 60_000, 'requests')).toEqual([order.id]);
});

describe('overdue webhooks', () => {
  test('make the sweep check their order, but not again within an hour', async () => {
    const history = await insertNewOrder(database.db, { webhookUrl: 'https://shop.example/hook' });
    const { id } = history.order;
    await saveHistory(database.db, applyEvents(history, 'signup_started'), 600_000);
    await makeDueIfWebhookOverdue(database.db, 10);
    expect(await leaseIds(10, 60_000, 'checks')).toEqual([]);
    await database.db.query(`update webhook_event set created_at = now() - interval '11 minutes'`);
    await makeDueIfWebhookOverdue(database.db, 10);
    expect(await leaseDueOrders(database.db, 'checks', 10, 60_000)).toMatchObject([
      { webhookOverdue: true, stuckRecently: false },
    ]);
    await markStuck(database.db, id);
    await database.db.query(`update order_work set sweep_at = now() + interval '1 day'`);
    await makeDueIfWebhookOverdue(database.db, 10);
    expect(await leaseIds(10, 60_000, 'checks')).toEqual([]);
  });

  test('are all found in time, even if there are always more than one search makes due', async () => {
    const orders = await Promise.all([1, 2, 3].map(() => orderWithWebhooks(database.db, 'signup_started')));
    await database.db.query(`update webhook_event set created_at = now() - interval '11 minutes'`);
    const found = new Set<string>();
    // Less than once in 10^10, all these searches miss an order.
    for (let searches = 0; searches < 60; searches += 1) {
      await database.db.query(`update order_work set sweep_at = now() + interval '1 day'`);
      await makeDueIfWebhookOverdue(database.db, 1);
      const [id, ...more] = await leaseIds(10, 60_000, 'checks');
      expect(more).toEqual([]);
      found.add(id!);
    }
    expect([...found].sort()).toEqual(orders.map(({ order }) => order.id).sort());
  });

  test('are found without a closer look at webhooks that wait for their next attempt', async () => {
    await orderWithWebhooks(database.db, 'signup_started');
    await database.db.query(
      `update webhook_event set created_at = now() - interval '1 day', next_attempt_at = now() + interval '1 hour'`,
    );
    const plan = await queryPlan(
      database.db,
      (explainingDb) => makeDueIfWebhookOverdue(explainingDb, 10),
      'explain analyze',
    );
    expect(plan).toMatch(/ on webhook_event e .*\(never executed\)/);
  });
});

test('a repair by a person makes the sweep check an order immediately, even a recently stuck one', async () => {
  const history = await insertNewOrder(database.db, { webhookUrl: 'https://shop.example/hook' });
  await saveHistory(database.db, applyEvents(history, 'signup_started'), 600_000);
  await markStuck(database.db, history.order.id);
  await makeDueForRepair(database.db, history.order.id);
  expect(await leaseDueOrders(database.db, 'checks', 10, 60_000)).toMatchObject([{ stuckRecently: false }]);
});

describe('a workflow that is about to stop', () => {
  test('makes the sweep check its open order within seconds', async () => {
    const { order } = await dueAfter(60_000);
    await makeDueSoon(database.db, order.id);
    expect(await secondsUntilSweep(order.id)).toBeLessThanOrEqual(2);
  });

  test('adds no work if its order is settled', async () => {
    const history = await insertNewOrder(database.db, { webhookUrl: null });
    await saveHistory(database.db, applyEvents(history, 'failed'), 60_000);
    await finishSettled(database.db, history.order.id, 2);
    await makeDueSoon(database.db, history.order.id);
    expect(await msUntilSweep(database.db, history.order.id)).toBeNull();
  });

  test('makes the sweep check its closed order within seconds if a webhook is pending', async () => {
    const history = await insertNewOrder(database.db, { webhookUrl: 'https://shop.example/hook' });
    await saveHistory(database.db, applyEvents(history, 'failed'), 60_000);
    await finishSettled(database.db, history.order.id, 2);
    await makeDueSoon(database.db, history.order.id);
    expect(await secondsUntilSweep(history.order.id)).toBeLessThanOrEqual(2);
  });
});

describe('the delivery lease', () => {
  test('is given to one of ten concurrent attempts, until that attempt is recorded', async () => {
    const { ids } = await orderWithWebhooks(database.db, 'signup_started', 'approved');
    const leases = await Promise.all(Array.from({ length: 10 }, () => leaseDelivery(database.db, ids[0]!, 1, 60_000)));
    const [held, ...others] = leases.filter((leased) => leased !== undefined);
    expect(others).toHaveLength(0);
    expect(await leaseDelivery(database.db, ids[1]!, 1, 60_000)).toBeUndefined();
    await record(database.db, ids[0]!, held!);
    expect(await leaseDelivery(database.db, ids[0]!, 2, 60_000)).toBeDefined();
  });

  test('expires', async () => {
    const { ids } = await orderWithWebhooks(database.db, 'signup_started');
    expect(await leaseDelivery(database.db, ids[0]!, 1, 60_000)).toBeDefined();
    await letSecondsPass(5);
    expect(await leaseDelivery(database.db, ids[0]!, 1, 60_000)).toBeUndefined();
    await letSecondsPass(60);
    expect(await leaseDelivery(database.db, ids[0]!, 1, 60_000)).toBeDefined();
  });

  test('is refused for an attempt that is recorded already and for an ended event', async () => {
    const { ids } = await orderWithWebhooks(database.db, 'signup_started');
    await makeAttempt(database.db, ids[0]!);
    expect(await leaseDelivery(database.db, ids[0]!, 1, 60_000)).toBeUndefined();
    await makeAttempt(database.db, ids[0]!, { ...DELIVERED, step: 2 });
    expect(await leaseDelivery(database.db, ids[0]!, 3, 60_000)).toBeUndefined();
  });

  test('is ended by its holder only, not by an attempt whose lease has expired', async () => {
    const { ids } = await orderWithWebhooks(database.db, 'signup_started');
    const expired = await lease(database.db, ids[0]!, 1, 0);
    const held = await lease(database.db, ids[0]!);
    expect(await endDeliveryLease(database.db, ids[0]!, expired)).toBe(false);
    expect(await leaseDelivery(database.db, ids[0]!, 1, 60_000)).toBeUndefined();
    expect(await endDeliveryLease(database.db, ids[0]!, held)).toBe(true);
    expect(await leaseDelivery(database.db, ids[0]!, 1, 60_000)).toBeDefined();
  });
});
