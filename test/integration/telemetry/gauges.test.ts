import { readFileSync } from 'node:fs';
import path from 'node:path';
import { CHECKOUT_BACKLOG } from '../../../src/checkout/temporal/background-jobs';
import '../../../src/checkout/lender/guard-lenders';
import '../../../src/checkout/payments/guard-payments';
import { type HealthCheck, createHealthCheck, createPool } from '../../../src/db/pool';
import { clearRowBehind, deleteStartRequests, markRowBehind } from '../../../src/db/orders';
import { createLogger } from '../../../src/logger';
import { addGauges } from '../../../src/telemetry/gauges';
import { registry } from '../../../src/telemetry/metrics';
import { reportChange } from '../../../src/telemetry/report';
import { addUsage } from '../../../src/db/account-usage';
import { PACKAGE_ROOT } from '../../../src/package';
import { BASE } from '../../support/api';
import { OPEN } from '../../support/authorization-matrix';
import { useDatabase } from '../../support/database';
import { parseMetrics } from '../../support/prometheus';
import { apiRoutes } from '../../support/routes';
import { until } from '../../support/until';
import { createSeller, log } from '../../support/stack';
import { insertNewOrder, saveChanges } from '../../support/new-orders';
import { applyEvents, orderAfter } from '../../support/domain-orders';

const database = useDatabase();
let pool: ReturnType<typeof createPool>;
let health: HealthCheck;
const lines: unknown[] = [];
beforeAll(() => {
  pool = createPool(database.url, 2, () => undefined);
  health = createHealthCheck(database.url, () => undefined);
  const captured = createLogger('warn', 'test', { write: (line) => void lines.push(JSON.parse(line)) });
  addGauges({ db: pool, checkDatabase: () => health.check(), backlogs: [CHECKOUT_BACKLOG], log: captured }, 0);
});
afterAll(() => Promise.all([pool.end(), health.end()]));

const read = async (name: string, labels?: Record<string, string>) =>
  parseMetrics(await registry.metrics()).value(name, labels);

const isUp = async (): Promise<boolean> => (await read('order_service_postgres_up')) === 1;

/** Checks an age that was set shortly before. */
function expectAge(seconds: number, set: number): void {
  expect(seconds).toBeGreaterThanOrEqual(set);
  expect(seconds).toBeLessThan(set + 60);
}

test('a pool whose connections are all in use shows the queries that wait', async () => {
  const connections = [await pool.connect(), await pool.connect()];
  const waiting = pool.query('select');
  // The gauges from Postgres wait for a connection too, so they are not read here.
  const found = parseMetrics(
    (
      await Promise.all(
        ['database_connections', 'database_connections_max', 'database_waiting'].map((name) =>
          registry.getSingleMetricAsString(`order_service_${name}`),
        ),
      )
    ).join('\n'),
  );
  expect(found.value('order_service_database_connections', { state: 'used' })).toBe(2);
  expect(found.value('order_service_database_connections', { state: 'idle' })).toBe(0);
  expect(found.value('order_service_database_connections_max')).toBe(2);
  expect(found.value('order_service_database_waiting')).toBe(1);
  for (const connection of connections) connection.release();
  await waiting;
  expect(await read('order_service_database_waiting')).toBe(0);
});

test('an order of a restored backup is counted until reconcile has repaired it', async () => {
  const order = await insertNewOrder(database.db);
  expect(await read('order_service_orders_behind')).toBe(0);
  await markRowBehind(database.db, order.id, 2);
  expect(await read('order_service_orders_behind')).toBe(1);
  await clearRowBehind(database.db, order.id);
  expect(await read('order_service_orders_behind')).toBe(0);
});

test('an order that waits for its workflow is shown with its age', async () => {
  const order = await insertNewOrder(database.db);
  await database.db.query(`update start_request set created_at = now() - interval '1 hour' where order_id = $1`, [
    order.id,
  ]);
  expectAge(await read('order_service_oldest_order_waiting_seconds'), 3600);
  await deleteStartRequests(database.db, [order.id]);
  expect(await read('order_service_oldest_order_waiting_seconds')).toBeLessThan(3600);
});

test('a payment of a closed live order is shown until it is reversed', async () => {
  const order = await insertNewOrder(database.db);
  await database.db.query(`insert into payment (order_id, bank, status) values ($1, 'oak', 'paid')`, [order.id]);
  expect(await read('order_service_payments_to_reverse')).toBe(0);
  await saveChanges(database.db, applyEvents(order, 'failed'));
  // A later cancellation does not make the order close later.
  await saveChanges(database.db, applyEvents(order, 'failed', 'cancel'));
  await database.db.query(
    `update order_timeline set at = now() - (4 - version) * interval '10 minutes' where order_id = $1`,
    [order.id],
  );
  expect(await read('order_service_payments_to_reverse')).toBe(1);
  expectAge(await read('order_service_oldest_payment_to_reverse_seconds'), 1200);
  await database.db.query(`update payment set status = 'refunded', closed_at = now()`);
  expect(await read('order_service_payments_to_reverse')).toBe(0);
  expect(await read('order_service_oldest_payment_to_reverse_seconds')).toBe(0);
});

test('if `start_request` cannot be read, the backlog is missing, Postgres is shown as down, and the log has the cause', async () => {
  await until(isUp, 'Postgres is shown as up');
  await database.db.query('alter table start_request rename to hidden');
  const { names, value } = parseMetrics(await registry.metrics());
  await database.db.query('alter table hidden rename to start_request');
  expect(value('order_service_postgres_up')).toBe(0);
  const message = expect.stringContaining('start_request');
  expect(lines).toContainEqual(expect.objectContaining({ level: 'warn', err: expect.objectContaining({ message }) }));
  expect(names).toContain('order_service_database_connections');
  const backlog =
    /_(orders|oldest_(order|webhook_pending|payment)|webhooks_pending|webhooks_exhausted|payments_to_reverse)/;
  expect([...names].filter((name) => backlog.test(name) && !/_total/.test(name))).toEqual([]);
});

test('the accounts that have created the most today are shown', async () => {
  const [small, large] = [await createSeller(database.db), await createSeller(database.db)];
  const used = (orders: number, bytes: number) => ({ orders, bytes });
  await addUsage(
    database.db,
    new Map([
      [small.id, used(3, 100)],
      [large.id, used(1, 9000)],
    ]),
  );
  await addUsage(database.db, new Map([[large.id, used(1, 1)]]));
  await database.db.query(
    `insert into account_usage select id, current_date - 2, 1, 1 from seller on conflict do nothing`,
  );
  const lines = async () =>
    (await registry.metrics()).split('\n').filter((line) => /^order_service_account_\w+_today/.test(line));
  await until(async () => (await lines()).length > 0, 'the accounts are shown');
  expect((await lines()).map((line) => line.replace(large.id, 'large').replace(small.id, 'small'))).toEqual([
    'order_service_account_orders_today{seller_id="large"} 2',
    'order_service_account_orders_today{seller_id="small"} 3',
    'order_service_account_bytes_today{seller_id="large"} 9001',
    'order_service_account_bytes_today{seller_id="small"} 100',
  ]);
});

test('the value of orders is counted when they become SUCCESSFUL', async () => {
  const order = orderAfter('signup_started', 'approved', 'completed');
  const before = await read('order_service_successful_pounds_total');
  for (const change of order.changes) reportChange(log, { ...order, sandbox: true }, change);
  expect((await read('order_service_successful_pounds_total', { mode: 'sandbox' })) - before).toBe(1234.5);
});

test('the sellers with the most exhausted webhooks of the last seven days are shown', async () => {
  const insert = async (days: number, count: number): Promise<string> => {
    const { id, sellerId } = await insertNewOrder(database.db);
    await database.db.query(
      `insert into webhook_event (id, order_id, seller_id, sequence, body, state, created_at)
       select gen_random_uuid(), $1, $2, n, '{}', 'exhausted', now() - $3 * interval '1 day' from generate_series(10, 9 + $4) n`,
      [id, sellerId, days, count],
    );
    return sellerId;
  };
  const [few, many, old] = [await insert(1, 2), await insert(6, 3), await insert(8, 4)];
  const shown = (sellerId: string) => read('order_service_seller_webhooks_exhausted', { seller_id: sellerId });
  await until(async () => (await shown(many)) === 3, 'they are shown');
  expect([await shown(few), await shown(old)]).toEqual([2, 0]);
});

test('Postgres is shown as down while it is read-only, beside the metrics that can be read', async () => {
  const writable = health;
  health = createHealthCheck(`${database.url}?options=-c%20default_transaction_read_only%3Don`, () => undefined);
  const { names, value } = parseMetrics(await registry.metrics());
  await health.end();
  health = writable;
  expect(value('order_service_postgres_up')).toBe(0);
  expect(names).toContain('order_service_orders_waiting');
  await until(isUp, 'Postgres is shown as up');
});

test('the alert about locked out sellers looks for successful calls on every route that needs a key, and on no other', () => {
  const rules = readFileSync(path.join(PACKAGE_ROOT, 'deploy/monitoring/alert-rules.yml'), 'utf8');
  const [, pattern = '', excluded = ''] =
    /OrderServiceSellersLockedOut[^]*?route=~"([^"]+)", route!~"([^"]+)"/.exec(rules) ?? [];
  const isMatched = (by: string, route: string): boolean => new RegExp(`^\\S+ (?:${by})$`).test(route);
  const found = apiRoutes().filter((route) => isMatched(pattern, route) && !isMatched(excluded, route));
  expect(found.length).toBeGreaterThan(10);
  expect(found).toEqual(apiRoutes().filter((route) => route.includes(` ${BASE}/`) && !(route in OPEN)));
});
