import { randomUUID } from 'node:crypto';
import { setImmediate as nextTick } from 'node:timers/promises';
import pino from 'pino';
import { startSweep } from '../../../src/orders/background/sweep';
import type { OrderWorkflows } from '../../../src/temporal/order-workflows';
import { useDatabase } from '../../support/database';
import { until } from '../../support/until';
import { insertNewOrder } from '../db/new-orders';

const database = useDatabase('test');

let stop: () => Promise<void>;
afterEach(() => stop());

/** Starts a sweep that scans for broken runs with `findBroken` several times a second. */
function sweepWith(findBroken: OrderWorkflows['findBroken']): void {
  async function* listOpen() {
    await nextTick();
    yield* [];
  }
  stop = startSweep({
    db: database.db,
    workflows: { findBroken, listOpen } as unknown as OrderWorkflows,
    log: pino({ level: 'silent' }),
    intervalMs: 10,
    checkAfterMs: 60_000,
    startsInFlight: 1,
    startDelayMs: 0,
    idempotencyKeyDays: 30,
    applicationRetentionMs: 1e9,
  });
}

test('a scan for closed runs that fails is repeated from the same time', async () => {
  const starts: Date[] = [];
  sweepWith(async function* (closedAfter) {
    starts.push(closedAfter);
    await nextTick();
    if (starts.length === 1) throw new Error('Temporal is unavailable');
    yield* [];
  });
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
  sweepWith(async function* () {
    await nextTick();
    yield order.id;
    throw new Error('the server lacks a search attribute');
  });
  await until(isDue, 'the order is due');
});

test('a job that fails does not hold up the scan for closed runs', async () => {
  await database.db.query('alter table idempotency_key rename to lost');
  let scans = 0;
  sweepWith(async function* () {
    scans += 1;
    await nextTick();
    yield* [];
  });
  await until(() => scans > 1, 'two scans have begun');
});

test('the sweep stops during a scan, however many runs it finds', async () => {
  let found = 0;
  let isOver = false;
  sweepWith(async function* () {
    while (!isOver) {
      await nextTick();
      found += 1;
      yield randomUUID();
    }
  });
  await until(() => found > 10, 'a scan finds runs');
  const stopped = await Promise.race([
    stop().then(() => true),
    until(() => found > 20_000, 'it goes on').then(() => false),
  ]);
  isOver = true;
  expect(stopped).toBe(true);
});
