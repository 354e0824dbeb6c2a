import path from 'node:path';
import { createSellerKey } from '../support/keys';
import { PACKAGE_ROOT } from '../../src/package';
import type { ApiResponse } from '../support/api';
import { constants } from '../support/constants';
import { alterDatabase } from '../support/database';
import { openOrder, queryOrder, timelineOf } from '../support/orders';
import { expectProblem } from '../support/problems';
import { killProcesses, startProcess } from '../support/processes';
import { useReceiver } from '../support/receiver';
import { useStack } from '../support/stack';
import { until } from '../support/until';

/*
 * docs/operators/operate.md, "What callers see while a part is down": what callers see, what waits, and that everything
 * continues without a person. An unavailable Temporal is in faults.test.ts, and failing receivers are in
 * test/unit/webhooks and test/integration/webhooks/deliver.test.ts.
 */
jest.setTimeout(300_000);

const stack = useStack({
  worker: false,
  env: { ...constants({ readBudgetMs: 10_000 }), UPDATE_TIMEOUT_MS: '2000', WEBHOOK_RETRY_DELAYS: '0,1,1,1,1,1,1,1' },
});
const receiver = useReceiver('test');
afterEach(async () => {
  await stack.stopWorker();
  await killProcesses();
});

function expectRetryLater(response: ApiResponse, detail: RegExp): void {
  expectProblem(response, 503, 'service_unavailable');
  expect(response.headers.get('Retry-After')).toBe('5');
  expect(response.body.detail).toMatch(detail);
}

/** Repeats a cancel until it succeeds, and expects one cancel in the timeline. */
async function cancelSucceeds(id: string): Promise<void> {
  await until(async () => (await stack.api.cancel(id)).status === 200, 'the cancel succeeds');
  expect((await timelineOf(stack, id)).filter(({ event }) => event === 'cancel')).toHaveLength(1);
}

const isReady = async () => (await stack.api.call('GET', '/health/ready', { key: null })).status === 200;

test('without a worker, orders are created and read, changes get 503, and the next worker resumes them', async () => {
  await stack.startWorker();
  const id = await openOrder(stack, {}, ['signup_started']);
  await stack.stopWorker();
  const created = await stack.api.create();
  const read = await stack.api.get(id);
  expect([created.status, read.status, read.headers.get('Order-Source'), await isReady()]).toEqual([
    ...[201, 200, 'snapshot', true],
  ]);
  expectRetryLater(await stack.api.cancel(id), /outcome is unknown/);
  await stack.startWorker();
  await cancelSucceeds(id);
  await until(() => queryOrder(stack.client, created.body.data.id).catch(() => null), 'the new order runs');
});

test('without Postgres, creating, reading and cancelling an order get 503, and webhooks and changes continue once it is back', async () => {
  await stack.startWorker();
  receiver.answerWith(500);
  // A process that remembers the key would learn of the outage only from its next query.
  const key = await createSellerKey(stack.db, stack.seller.id);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(() => receiver.deliveries.length > 0, 'the first attempt has arrived');
  await alterDatabase(stack.databaseUrl, 'allow_connections false');
  const { create, get, cancel } = stack.api;
  for (const response of await Promise.all([create({}, { key }), get(id, { key }), cancel(id, { key })])) {
    expectRetryLater(response, /Nothing changed/);
  }
  await until(async () => !(await isReady()), 'the API is not ready');
  receiver.answerWith(200);
  await alterDatabase(stack.databaseUrl, 'allow_connections true');
  await cancelSucceeds(id);
  await until(() => receiver.deliveries.at(-1)?.body.data.sequence === 2, 'both webhooks have arrived');
  await until(isReady, 'the API is ready');
});

test('on a full disk, orders are read, and creating and cancelling one get 503 until there is space', async () => {
  await stack.startWorker();
  const id = await openOrder(stack);
  await stack.db.query(`create function disk_full() returns trigger language plpgsql as
    $$ begin raise 'could not extend file: No space left on device' using errcode = '53100'; end $$`);
  for (const table of ['orders', 'order_timeline', 'start_request', 'idempotency_key']) {
    await stack.db.query(`create trigger disk_full before insert or update on ${table} execute function disk_full()`);
  }
  expectRetryLater(await stack.api.create(), /outcome is unknown/);
  expect((await stack.api.get(id)).body.data.status).toBe('CREATED');
  expectRetryLater(await stack.api.cancel(id), /outcome is unknown/);
  await stack.db.query('drop function disk_full() cascade');
  await cancelSucceeds(id);
  expect((await stack.api.create()).status).toBe(201);
});

test.each([1, -1])(
  'a worker whose clock is %i h wrong makes attempts when they are due, and signs the right time',
  async (hours) => {
    const worker = await startProcess(
      'worker',
      { ...stack.env, CHAOS_CLOCK_SHIFT_MS: String(hours * 3_600_000) },
      { nodeOptions: ['--require', path.join(PACKAGE_ROOT, 'dist/test/chaos/preload/shift-clock.js')] },
    );
    receiver.answerWith(500);
    const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
    await until(() => receiver.deliveries.length === 3, 'three attempts have arrived');
    const [first, second, third] = receiver.deliveries.map(({ at }) => at) as [number, number, number];
    for (const waitMs of [second - first, third - second]) expect(waitMs).toBeGreaterThan(800);
    // The wrong clock is an hour off.
    for (const { at, headers } of receiver.deliveries) {
      expect(Math.abs(Number(headers['webhook-timestamp']) - at / 1000)).toBeLessThan(1800);
    }
    await stack.api.cancel(id);
    await worker.signal('SIGTERM');
  },
);
