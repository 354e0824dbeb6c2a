import { apiOf } from '../support/api';
import { runCli } from '../support/cli';
import { closedPort, startTestServer } from '../support/listening-server';
import { insertClosedOrders } from '../support/closed-orders';
import { openOrder } from '../support/orders';
import { type ServiceProcess, killProcesses, startProcess } from '../support/processes';
import { useReceiver } from '../support/receiver';
import { createSeller, useStack } from '../support/stack';
import { until } from '../support/until';

/**
 * TIMING_BAD_RECEIVERS=2000,20000 npm run timing: webhooks that wait for a bad receiver, and webhooks of a bulk resend.
 */
const [WAITING = 100, RESENDS = 200] = (process.env.TIMING_BAD_RECEIVERS ?? '').split(',').filter(Boolean).map(Number);
const SAMPLES = Number(process.env.TIMING_BAD_RECEIVERS_SAMPLES ?? 20);
const METRICS = '127.0.0.1:19464';
/** The slowest of many webhooks, on a machine with other load. */
const ALLOWED = { factor: 4, ms: 500 };

jest.setTimeout(1_800_000);

afterAll(() => killProcesses());
const stack = useStack({ worker: false });
const healthy = useReceiver();
let worker: ServiceProcess;
let alone: Percentiles;

interface Percentiles {
  p50: number;
  p99: number;
}

beforeAll(async () => {
  worker = await startProcess('worker', { ...stack.env, SWEEP_CHECK_AFTER_MS: '300000', METRICS_ADDRESS: METRICS });
  await measureHealthy(5);
  alone = await measureHealthy(SAMPLES);
  console.log('alone', alone);
});

/** Milliseconds from the change of a healthy seller's order to the arrival of its webhook. */
async function measureHealthy(count: number): Promise<Percentiles> {
  const api = apiOf(stack.api.url, await createSeller(stack.db), stack.api.checkoutKey);
  const durations: number[] = [];
  while (durations.length < count) {
    const id = await openOrder({ ...stack, api }, { webhook_url: healthy.url });
    const changedAt = Date.now();
    await api.progress(id, 'failed');
    const arrived = () => healthy.deliveries.find(({ body }) => body.data.order?.id === id);
    durations.push((await until(arrived, 'the healthy receiver has got its webhook', 120_000)).at - changedAt);
  }
  durations.sort((a, b) => a - b);
  const at = (share: number) => durations[Math.floor((durations.length - 1) * share)]!;
  return { p50: at(0.5), p99: at(0.99) };
}

async function counters(): Promise<{ activities: number; transactions: number; at: number }> {
  const text = await (await fetch(`http://${METRICS}/metrics`)).text();
  const counts = [...text.matchAll(/^temporal_activity_execution_latency\w*_count\{.*\} (\d+)/gm)];
  const { rows } = await stack.db.query<{ count: string }>(
    'select xact_commit as count from pg_stat_database where datname = current_database()',
  );
  const activities = counts.reduce((sum, [, count]) => sum + Number(count), 0);
  return { activities, transactions: Number(rows[0]!.count), at: Date.now() };
}

/** Executions of activities and SQL transactions per second. */
async function ratesWhile<T>(work: () => Promise<T>): Promise<{ result: T; activities: number; transactions: number }> {
  const before = await counters();
  const result = await work();
  const after = await counters();
  const seconds = (after.at - before.at) / 1000;
  return {
    result,
    activities: (after.activities - before.activities) / seconds,
    transactions: (after.transactions - before.transactions) / seconds,
  };
}

async function beside(what: string): Promise<void> {
  const { result, ...rates } = await ratesWhile(() => measureHealthy(SAMPLES));
  console.log(what, result, 'with the healthy webhooks', rates);
  expect(result.p99).toBeLessThan(Math.max(ALLOWED.factor * alone.p99, ALLOWED.ms));
}

async function idle(what: string): Promise<void> {
  const { activities, transactions } = await ratesWhile(() => new Promise((resolve) => setTimeout(resolve, 15_000)));
  console.log(`${what}: ${activities.toFixed(1)} activities/s, ${transactions.toFixed(1)} transactions/s`);
  // Four deliveries a second take a turn.
  expect(activities).toBeLessThan(20);
}

/** Closed orders whose first webhook is pending. The sweep starts their workflows. */
async function deliverTo(url: string): Promise<void> {
  const seller = await createSeller(stack.db);
  await insertClosedOrders(stack.db, { seller, url, count: WAITING, state: 'pending' });
  const due = 'select from order_work where sweep_at < now() limit 1';
  await until(async () => (await stack.db.query(due)).rowCount === 0, 'all workflows run', 900_000);
}

test("a seller's webhooks are not delayed by a receiver that hangs", async () => {
  const hanging = await startTestServer(() => undefined);
  await deliverTo(`${hanging.url}/hooks`);
  await idle(`${WAITING} webhooks for a receiver that hangs`);
  await beside('beside a receiver that hangs');
  await stack.db.query(`update webhook_event set state = 'delivered' where state = 'pending'`);
  await hanging.close();
});

test("a seller's webhooks are not delayed by a receiver that refuses", async () => {
  await deliverTo(`http://127.0.0.1:${await closedPort()}/hooks`);
  await idle(`${WAITING} webhooks for a receiver that refuses`);
  await beside('beside a receiver that refuses');
  await stack.db.query(`update webhook_event set state = 'delivered' where state = 'pending'`);
});

test("a seller's webhooks are not delayed by a bulk resend", async () => {
  const seller = await createSeller(stack.db);
  await insertClosedOrders(stack.db, { seller, url: healthy.url, count: RESENDS, state: 'delivered' });
  const before = healthy.deliveries.length;
  const startedAt = Date.now();
  const run = await runCli(['webhooks', 'resend', '--state', 'delivered', '--seller', seller.id], {
    DATABASE_URL: stack.databaseUrl,
  });
  expect(run.code).toBe(0);
  await beside(`beside a bulk resend of ${RESENDS}`);
  const rate = (healthy.deliveries.length - before - SAMPLES) / ((Date.now() - startedAt) / 1000);
  console.log(`${rate.toFixed(1)} resends/s`);
  expect(worker.isRunning()).toBe(true);
});
