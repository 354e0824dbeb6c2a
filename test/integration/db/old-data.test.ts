import { randomUUID } from 'node:crypto';
import { oldCheckoutDataOf } from '../../../src/checkout/db/old-checkout-data';
import { findOrder, markRowBehind } from '../../../src/db/orders';
import { findWebhook } from '../../../src/db/find-webhooks';
import { findPortalLink, insertPortalSession } from '../../../src/db/portal-sessions';
import { type OldData, deleteOldData, overdueSeconds } from '../../../src/db/old-data';
import { type Retention, oldDataOf } from '../../../src/db/retention';
import { insertSeller } from '../../../src/db/sellers';
import { createDeletion } from '../../../src/orders/background/background-jobs';
import { registry } from '../../../src/telemetry/metrics';
import type { Order, OrderEvent } from '../../../src/domain/order';
import { holdTransaction, statementsWaiting, useDatabase } from '../../support/database';
import { applyEvents } from '../../support/domain-orders';
import { DELIVERED, makeAttempt } from '../../support/new-attempts';
import { insertNewOrder, saveChanges } from '../../support/new-orders';
import { parseMetrics } from '../../support/prometheus';
import { queryPlan } from '../../support/query-plan';
import { until } from '../../support/until';

const database = useDatabase('test');

const RETENTION: Retention = { webhookDays: 90, orderDays: 365, sandboxDays: 30 };
const KINDS = [...oldDataOf(RETENTION), ...oldCheckoutDataOf({ ...RETENTION, applicationRetentionMs: 1000 })];
const kind = (name: string): OldData => KINDS.find((one) => one.name === name)!;
const remove = async (name: string, limit = 100): Promise<number> =>
  (await deleteOldData(database.db, kind(name), limit)).deleted;

const BOUGHT: OrderEvent[] = ['signup_started', 'approved', 'completed'];

/** Inserts an order that last changed some days ago, with one delivered attempt for each of its webhooks. */
async function orderOf(
  days: number,
  events: OrderEvent[] = BOUGHT,
  { sandbox = false, delivered = true } = {},
): Promise<Order> {
  const { db } = database;
  const sellerId = randomUUID();
  await insertSeller(db, sellerId, 'Test Shop Ltd', sandbox);
  const idempotency = {
    key: randomUUID(),
    requestDigest: Buffer.alloc(32),
    response: {} as never,
  };
  const order = await insertNewOrder(db, { sellerId, sandbox }, { idempotency });
  await db.query('delete from start_request where order_id = $1', [order.id]);
  const webhooks = events.length === 0 ? [] : await saveChanges(db, applyEvents(order, ...events));
  if (delivered) for (const { id } of webhooks) await makeAttempt(database.db, id, DELIVERED);
  for (const [table, column] of [
    ['orders', 'id'],
    ['webhook_event', 'order_id'],
  ])
    await db.query(
      `update ${table} set created_at = created_at - $2 * interval '1 day' ${table === 'orders' ? ", saved_at = saved_at - $2 * interval '1 day'" : ''}
       where ${column} = $1`,
      [order.id, days],
    );
  return order;
}

/** The rows of an order in each table that has some. */
async function rowsOf({ id }: Order): Promise<Record<string, number>> {
  const { rows } = await database.db.query<{ counts: Record<string, number> }>(
    `select json_build_object(
       'orders', (select count(*) from orders where id = $1),
       'timeline', (select count(*) from order_timeline where order_id = $1),
       'keys', (select count(*) from idempotency_key where order_id = $1),
       'webhooks', (select count(*) from webhook_event where order_id = $1),
       'attempts', (select count(*) from webhook_attempt a join webhook_event e on e.id = a.event_id where order_id = $1),
       'applications', (select count(*) from application where order_id = $1),
       'payments', (select count(*) from payment where order_id = $1)) as counts`,
    [id],
  );
  return rows[0]!.counts;
}

const exists = async ({ id }: Order): Promise<boolean> => (await findOrder(database.db, id)) !== undefined;

const pay = (order: Order, isSettled: boolean, bankBooks = false) =>
  database.db.query(
    `with made as (insert into payment (order_id, bank, status, started_at, closed_at)
       values ($1, 'oak', 'paid', now() - interval '40 days', case when $2 then now() end) returning id)
     insert into sandbox_payment (id, started_at) select id, now() - interval '40 days' from made where $3`,
    [order.id, isSettled, bankBooks],
  );

test('content and attempts of webhooks that ended are deleted after their retention, and their lines stay', async () => {
  const { db } = database;
  const [old, recent] = [await orderOf(91), await orderOf(89)];
  const before = await rowsOf(old);
  expect(before).toMatchObject({ webhooks: 3, attempts: 3 });
  expect(await remove('webhook_contents')).toBe(3);
  expect(await rowsOf(old)).toEqual({ ...before, attempts: 0 });
  expect(await rowsOf(recent)).toMatchObject({ webhooks: 3, attempts: 3 });
  const { rows } = await db.query<{ id: string }>('select id from webhook_event where order_id = $1', [old.id]);
  for (const { id } of rows)
    expect(await findWebhook(db, id)).toMatchObject({
      body: null,
      contentDeletedAt: expect.any(Date),
      state: 'delivered',
      attempts: 1,
      createdAt: expect.any(Date),
    });
  expect(await remove('webhook_contents')).toBe(0);
});

test('the content of a pending webhook is kept, however old it is', async () => {
  await orderOf(1000, BOUGHT, { delivered: false });
  expect(await remove('webhook_contents')).toBe(0);
  await expect(database.db.query(`update webhook_event set body = null, content_deleted_at = now()`)).rejects.toThrow(
    /violates check constraint/,
  );
});

test.each([
  ['orders', false, 366, 364],
  ['sandbox_orders', true, 31, 29],
])('closed orders go with everything that belongs to them: %s', async (name, sandbox, gone, kept) => {
  const { db } = database;
  const ends: OrderEvent[][] = [BOUGHT, ['cancel'], ['signup_started', 'declined']];
  const old = [];
  for (const events of ends) old.push(await orderOf(gone, events, { sandbox }));
  const others = [await orderOf(kept, BOUGHT, { sandbox }), await orderOf(gone, BOUGHT, { sandbox: !sandbox })];
  await db.query(`insert into application (order_id, payment_term) values ($1, 'PAY_LATER')`, [old[0]!.id]);
  await pay(old[0]!, true, sandbox);
  expect(await rowsOf(old[0]!)).toEqual({
    ...{ orders: 1, timeline: 4, keys: 1, webhooks: 3, attempts: 3, applications: 1, payments: 1 },
  });
  if (sandbox) expect(await remove('sandbox_payments')).toBe(0);
  // An order of the other kind of account may be due by its own setting.
  expect(await remove(name)).toBe(3);
  for (const order of old) expect(Object.values(await rowsOf(order)).every((count) => count === 0)).toBe(true);
  for (const order of others) expect(await exists(order)).toBe(true);
  if (sandbox) expect(await remove('sandbox_payments')).toBe(1);
});

test('without ORDER_RETENTION_DAYS, orders of live accounts are kept', () => {
  const names = oldDataOf({ webhookDays: 90, sandboxDays: 30 }).map(({ name }) => name);
  expect(names).toEqual(['webhook_secrets', 'portal_sessions', 'webhook_contents', 'sandbox_orders']);
});

test("the seller's sessions, which name a person, are deleted after a day, and no later one", async () => {
  const { db } = database;
  const { sellerId } = await insertNewOrder(db);
  const session = { sellerId, key: null, user: 'Ada', readOnly: false };
  for (const link of ['old', 'new']) await insertPortalSession(db, { ...session, link });
  await db.query(
    `update portal_session set created_at = now() - interval '25 hours' where link_digest = sha256('old'::bytea)`,
  );
  expect(await remove('portal_sessions')).toBe(1);
  expect(await findPortalLink(db, 'new')).toBeDefined();
});

test.each<[string, () => Promise<Order>]>([
  ['is open', () => orderOf(1000, ['signup_started', 'approved'])],
  ['is new', () => orderOf(1000, [])],
  ['has a pending webhook', () => orderOf(1000, BOUGHT, { delivered: false })],
  [
    'has a payment that is not settled',
    async () => {
      const order = await orderOf(1000, ['cancel']);
      await pay(order, false);
      return order;
    },
  ],
  [
    'waits for reconcile',
    async () => {
      const order = await orderOf(1000);
      await markRowBehind(database.db, order.id, 9);
      return order;
    },
  ],
])('an order is kept while it %s', async (_, create) => {
  const order = await create();
  expect(await remove('orders')).toBe(0);
  expect(await exists(order)).toBe(true);
});

test('a payment that becomes open again while its order is being deleted is kept with its order', async () => {
  const { db } = database;
  const order = await orderOf(1000, ['cancel']);
  await pay(order, true);
  const reported = await holdTransaction(db, 'update payment set closed_at = null where order_id = $1', [order.id]);
  const deleting = remove('orders').catch((error: unknown) => error);
  await until(
    async () => (await statementsWaiting(db, 'delete from orders')) > 0,
    'the deletion waits for the payment',
  );
  await reported.commit();
  expect(String(await deleting)).toMatch(/payment \S+ is not settled/);
  expect(await remove('orders')).toBe(0);
  expect(await rowsOf(order)).toMatchObject({ orders: 1, payments: 1 });
});

test('the oldest go first, and the overdue time shows what is left', async () => {
  const { db } = database;
  const orders = [await orderOf(400), await orderOf(500), await orderOf(366)];
  const day = 86_400;
  expect(Math.round((await overdueSeconds(db, kind('orders'))) / day)).toBe(135);
  expect(await remove('orders', 1)).toBe(1);
  expect(await Promise.all(orders.map(exists))).toEqual([true, false, true]);
  expect(Math.round((await overdueSeconds(db, kind('orders'))) / day)).toBe(35);
  expect(await remove('orders')).toBe(2);
  expect(await overdueSeconds(db, kind('orders'))).toBe(0);
});

/** Copies an order of 400 days ago, each copy with a timeline and webhooks. */
async function manyOrders(count: number): Promise<void> {
  const { id } = await orderOf(400);
  await database.db.query(
    `with copies as (select gen_random_uuid() as id, n from generate_series(1, $2) n), orders_copied as (
       insert into orders (id, seller_id, seller_name, amount_pence, reference, allowed_payment_terms, redirect_url,
         pay_link_id, pricing, created_at, saved_at, version, status)
       select c.id, seller_id, seller_name, amount_pence, 'copy ' || n, allowed_payment_terms, redirect_url,
         gen_random_uuid(), pricing, created_at, saved_at + n * interval '1 second', version, status
       from orders o, copies c where o.id = $1)
     insert into webhook_event (id, order_id, seller_id, sequence, body, state, created_at)
     select gen_random_uuid(), c.id, seller_id, sequence, body, state, created_at from webhook_event e, copies c
     where e.order_id = $1`,
    [id, count],
  );
}

test('a round deletes batch by batch until nothing is due, and counts it', async () => {
  await manyOrders(450);
  await createDeletion(database.db, kind('orders'))(new AbortController().signal);
  expect((await database.db.query('select from orders')).rowCount).toBe(0);
  const metrics = parseMetrics(await registry.metrics());
  expect(metrics.value('order_service_deleted_rows_total', { data: 'orders' })).toBe(451);
  expect(metrics.value('order_service_overdue_deletion_seconds', { data: 'orders' })).toBe(0);
});

test('a round deletes nothing while the database is busy, and the next one continues', async () => {
  const { db } = database;
  const order = await orderOf(400);
  const round = () => createDeletion(db, kind('orders'))(new AbortController().signal);
  const busy = Array.from({ length: 9 }, () => db.query('select pg_sleep(60)').catch(() => undefined));
  const sleepers = `select pid from pg_stat_activity where query = 'select pg_sleep(60)' and state = 'active'`;
  await until(async () => (await db.query(sleepers)).rowCount === 9, 'nine statements run');
  await round();
  expect(await exists(order)).toBe(true);
  const overdue = await registry.metrics();
  expect(parseMetrics(overdue).value('order_service_overdue_deletion_seconds', { data: 'orders' })).toBeGreaterThan(1);
  await db.query(`select pg_terminate_backend(pid) from (${sleepers}) s`);
  await Promise.all(busy);
  await until(async () => (await db.query(sleepers)).rowCount === 0, 'they have ended');
  await round();
  expect(await exists(order)).toBe(false);
});

test('a stop ends a round after its batch', async () => {
  await manyOrders(450);
  const stopping = new AbortController();
  const round = createDeletion(database.db, kind('orders'))(stopping.signal);
  stopping.abort();
  await round;
  expect((await database.db.query('select from orders')).rowCount).toBeGreaterThanOrEqual(251);
});

test('indexes find what is due among many rows, and nothing else is read', async () => {
  const { db } = database;
  await manyOrders(5000);
  await db.query(`update orders set saved_at = now() where reference not like 'copy 1%'`);
  await db.query(`update webhook_event set created_at = now() where id::text > '1'`);
  await db.query('analyze');
  for (const [name, index] of [
    ['orders', 'orders_closed'],
    ['sandbox_orders', 'orders_closed'],
    ['webhook_contents', 'webhook_event_with_content'],
  ] as const) {
    const plan = await queryPlan(db, (explaining) => deleteOldData(explaining, kind(name), 50), 'explain analyze');
    expect(plan).toContain(`Index Scan using ${index}`);
    const found = plan.slice(plan.indexOf(`Index Scan using ${index}`)).split('\n');
    expect(found.slice(0, 4).join('\n')).not.toContain('Rows Removed by Filter');
    expect(plan).not.toMatch(/Seq Scan on (orders|webhook_event) /);
  }
});
