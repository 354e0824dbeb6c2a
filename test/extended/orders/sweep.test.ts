import { randomUUID } from 'node:crypto';
import { setImmediate as nextTick, setTimeout as delay } from 'node:timers/promises';
import pino from 'pino';
import { startSweep } from '../../../src/orders/background/sweep';
import { markStuck } from '../../../src/db/order-work';
import type { OrderWorkflows } from '../../../src/temporal/order-workflows';
import { registry } from '../../../src/telemetry/metrics';
import { useDatabase } from '../../support/database';
import { until } from '../../support/until';
import { insertNewOrder, newSeller, saveHistory } from '../../support/new-orders';
import { applyEvents } from '../../support/order-histories';

const database = useDatabase('test');

let stop: () => Promise<void>;
afterEach(() => stop());

async function* nothing(): AsyncGenerator<never, undefined> {
  await nextTick();
  yield* [];
  return undefined;
}

/** Starts a sweep that by default scans several times a second. */
function sweepWith(
  {
    findClosedByForce = nothing,
    findStuck = nothing,
    listOpen = nothing,
    listCompleted = nothing,
    countStuck = () => Promise.resolve(0),
  }: Partial<OrderWorkflows>,
  intervalMs = 10,
): void {
  stop = startSweep({
    db: database.db,
    workflows: { findClosedByForce, findStuck, listOpen, listCompleted, countStuck } as unknown as OrderWorkflows,
    log: pino({ level: 'silent' }),
    intervalMs,
    checkAfterMs: 60_000,
    startsInFlight: 1,
    startDelayMs: 0,
    idempotencyKeyDays: 30,
    applicationRetentionMs: 1e9,
  });
}

test('a scan for closed runs that fails is repeated from the same time', async () => {
  const starts: Date[] = [];
  const findClosedByForce: OrderWorkflows['findClosedByForce'] = async function* (closedAfter) {
    starts.push(closedAfter);
    await nextTick();
    if (starts.length === 1) throw new Error('Temporal is unavailable');
    yield* [];
  };
  sweepWith({ findClosedByForce });
  await until(() => starts.length === 3, 'three scans have begun');
  expect(starts[1]).toEqual(starts[0]);
  expect(starts[2]!.getTime()).toBeGreaterThan(starts[1]!.getTime());
});

test('a scan that fails makes the orders due that it found before', async () => {
  const { order } = await insertNewOrder(database.db);
  const isDue = async (): Promise<boolean> => {
    const query = `select sweep_at < now() + interval '1 minute' as due from order_work where order_id = $1`;
    return (await database.db.query<{ due: boolean }>(query, [order.id])).rows[0]!.due;
  };
  await database.db.query(`update order_work set started = true, sweep_at = now() + interval '1 hour'`);
  expect(await isDue()).toBe(false);
  const findClosedByForce = async function* () {
    await nextTick();
    yield order.id;
    throw new Error('the server lacks a search attribute');
  };
  sweepWith({ findClosedByForce });
  await until(isDue, 'the order is due');
});

test('a settled order whose run was closed by force is checked: the run may have left a request', async () => {
  const settled = await insertNewOrder(database.db, { webhookUrl: null });
  await saveHistory(database.db, applyEvents(settled, 'cancel'));
  await database.db.query('delete from order_work');
  const findClosedByForce = async function* () {
    await nextTick();
    yield settled.order.id;
  };
  sweepWith({ findClosedByForce });
  const due = 'select from order_work where order_id = $1';
  await until(async () => (await database.db.query(due, [settled.order.id])).rowCount === 1, 'the order is due');
});

test('an order whose run keeps failing is due immediately, and again after an hour', async () => {
  const { order } = await insertNewOrder(database.db);
  const { order: replaced } = await insertNewOrder(database.db);
  await database.db.query(`update order_work set started = true, sweep_at = now() + interval '1 day'`);
  await markStuck(database.db, replaced.id);
  const findStuck = async function* () {
    await nextTick();
    yield replaced.id;
    yield order.id;
  };
  sweepWith({ findStuck });
  const due = `select order_id as id from order_work where sweep_at < now() + interval '1 hour'`;
  await until(async () => (await database.db.query(due)).rowCount, 'an order is due');
  expect((await database.db.query(due)).rows).toEqual([{ id: order.id }]);
  await database.db.query(`update order_work set stuck_at = now() - interval '61 minutes'`);
  await until(async () => (await database.db.query(due)).rowCount === 2, 'both are due');
});

test('a job that fails does not hold up the scan for closed runs', async () => {
  await database.db.query('alter table idempotency_key rename to lost');
  let scans = 0;
  const findClosedByForce = async function* () {
    scans += 1;
    await nextTick();
    yield* [];
  };
  sweepWith({ findClosedByForce });
  await until(() => scans > 1, 'two scans have begun');
});

test('the number of stuck runs is shown while it can be counted', async () => {
  const shown = async (): Promise<string | undefined> => {
    const text = await registry.getSingleMetricAsString('order_service_stuck_runs');
    return /^order_service_stuck_runs (\d+)$/m.exec(text)?.[1];
  };
  let count = (): Promise<number> => Promise.resolve(3);
  sweepWith({ countStuck: () => count() });
  await until(async () => (await shown()) === '3', 'the number is shown');
  count = () => Promise.reject(new Error('Temporal is unavailable'));
  await until(async () => (await shown()) === undefined, 'no number is shown');
  count = () => Promise.resolve(0);
  await until(async () => (await shown()) === '0', 'the number is shown again');
});

test('the sweep deletes expired webhook secrets', async () => {
  const seller = await newSeller(database.db);
  await database.db.query(
    `insert into webhook_secret (seller_id, secret, expires_at) values ($1, 'expired', now()), ($1, 'active', null)`,
    [seller],
  );
  sweepWith({});
  const secrets = async () => (await database.db.query('select secret from webhook_secret')).rows;
  await until(async () => (await secrets()).length === 1, 'a secret is deleted');
  expect(await secrets()).toEqual([{ secret: 'active' }]);
});

test('the sweep stops during a scan, however many runs it finds', async () => {
  let found = 0;
  let isOver = false;
  const findClosedByForce = async function* () {
    while (!isOver) {
      await nextTick();
      found += 1;
      yield randomUUID();
    }
  };
  sweepWith({ findClosedByForce });
  await until(() => found > 10, 'a scan finds runs');
  const stopped = await Promise.race([
    stop().then(() => true),
    until(() => found > 20_000, 'the scan continues').then(() => false),
  ]);
  isOver = true;
  expect(stopped).toBe(true);
});

test('the scan for closed runs does not depend on the clock of the worker', async () => {
  const starts: Date[] = [];
  const clock = jest
    .spyOn(Date, 'now')
    .mockImplementation(() => performance.timeOrigin + performance.now() + 3_600_000);
  sweepWith({
    async *findClosedByForce(closedAfter) {
      starts.push(closedAfter);
      yield* nothing();
    },
  });
  await until(() => starts.length === 2, 'two scans have begun');
  clock.mockRestore();
  expect(starts[1]!.getTime()).toBeLessThan(Date.now());
});

test('the walk over open runs continues where it failed, and makes due what it found before', async () => {
  const settled = await insertNewOrder(database.db, { webhookUrl: null });
  await saveHistory(database.db, applyEvents(settled, 'cancel'));
  await database.db.query('delete from order_work');
  const startedAt = new Date('2026-01-02T03:04:05Z');
  const begun: (Date | undefined)[] = [];
  sweepWith({
    async *listOpen(startedBy) {
      begun.push(startedBy);
      await nextTick();
      if (begun.length > 1) return undefined;
      yield { orderId: settled.order.id, at: startedAt, status: 'UNSUCCESSFUL' };
      throw new Error('Temporal is unavailable');
    },
  });
  await until(() => begun.length > 1, 'the walk continues');
  expect(begun.slice(0, 2)).toEqual([undefined, startedAt]);
  const due = 'select from order_work where order_id = $1';
  await until(async () => (await database.db.query(due, [settled.order.id])).rowCount === 1, 'the order is due');
});

test('completed runs are compared with their rows, page by page, until all rows of a page are final', async () => {
  const open = await insertNewOrder(database.db);
  const final = await insertNewOrder(database.db, { webhookUrl: null });
  await saveHistory(database.db, applyEvents(final, 'cancel'));
  await database.db.query(`update order_work set sweep_at = now() + interval '1 day'`);
  const listed: (Date | undefined)[] = [];
  let mostPages = 0;
  const closedAt = new Date('2026-01-02T03:04:05Z');
  sweepWith({
    async *listCompleted(closedBy) {
      listed.push(closedBy);
      for (let count = 0; ; count++) {
        await nextTick();
        // The order of the second page has no row.
        const orderId = [open.order.id, randomUUID()][count / 1000] ?? final.order.id;
        mostPages = Math.max(mostPages, 1 + Math.floor(count / 1000));
        yield { orderId, at: closedAt, status: undefined };
        if (listed.length === 1 && count === 1000) throw new Error('Temporal is unavailable');
      }
    },
  });
  await until(() => listed.length > 2, 'the walk has continued, and begun again');
  expect(listed.slice(0, 3)).toEqual([undefined, closedAt, undefined]);
  const due = `select from order_work where order_id = $1 and sweep_at < now() + interval '1 hour'`;
  expect((await database.db.query(due, [open.order.id])).rowCount).toBe(1);
  expect((await database.db.query(due, [final.order.id])).rowCount).toBe(0);
  await delay(300);
  expect(mostPages).toBe(3);
});

test('one scan deletes the personal data of all applications that are out of date, however many', async () => {
  await insertNewOrder(database.db);
  await database.db.query(
    `insert into orders (id, seller_id, seller_name, amount_pence, reference, allowed_payment_terms, redirect_url,
       pay_link_id, pricing, created_at, version, status)
     select gen_random_uuid(), seller_id, seller_name, amount_pence, 'order ' || n, allowed_payment_terms, redirect_url,
       gen_random_uuid(), pricing, created_at, version, status from orders, generate_series(1, 1000) n`,
  );
  await database.db.query('delete from order_timeline');
  await database.db.query(
    `insert into application (order_id, payment_term, created_at)
     select id, 'PAY_LATER', now() - interval '1 year' from orders`,
  );
  sweepWith({}, 600_000);
  const isDone = async () => (await database.db.query('select from application')).rowCount === 0;
  await until(isDone, 'all applications are deleted');
});
