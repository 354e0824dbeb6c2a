import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { loadConfig } from '../../../src/config';
import type { ProblemBody } from '../../../src/contracts/problem-schema';
import { findOrder } from '../../../src/db/find-orders';
import { createCheckoutKey } from '../../../src/db/sellers';
import { freePort } from '../../../tools/local-stack/ports';
import type { OrderEvent } from '../../../src/domain/status';
import { startServer } from '../../../src/server';
import { type Answer, BASE, apiOf } from '../../support/api';
import { applyEvents, saveHistory } from '../db/new-orders';
import { type TestDatabase, createDatabase } from '../../support/database';
import { expectProblem } from '../../support/problems';
import { type TestSeller, startStack, QUICK, createSeller, log } from '../../support/stack';

const NOTHING_DONE = /Nothing changed/;
const UNKNOWN = /outcome is unknown/;
const REPEAT = /[Rr]epeating the (same )?call is safe/;

function expectUnavailable(answer: Answer, detail: RegExp): ProblemBody {
  const problem = expectProblem(answer, 503, 'service_unavailable');
  expect(Number(answer.headers.get('Retry-After'))).toBeGreaterThan(0);
  expect(problem.detail).toMatch(detail);
  expect(problem.detail).toMatch(REPEAT);
  return problem;
}

/** Starts an API with the given addresses of Postgres and Temporal. */
async function startApi(databaseUrl: string, temporalAddress: string, updateTimeoutMs = 500) {
  const env = { DATABASE_URL: databaseUrl, UPDATE_TIMEOUT_MS: String(updateTimeoutMs), START_TIMEOUT_MS: '500' };
  const config = loadConfig({ ...QUICK, ...env });
  return startServer(config, { connectionOptions: { address: temporalAddress }, namespace: 'none' }, log);
}
const onFreePort = async () => `127.0.0.1:${await freePort()}`;

describe('without Postgres', () => {
  let server: Awaited<ReturnType<typeof startApi>>;
  let address: string;
  let api: ReturnType<typeof apiOf>;
  beforeAll(async () => {
    address = await onFreePort();
    server = await startApi(`postgres://orders:hunter2@${address}/orders_db`, await onFreePort());
    api = apiOf(`http://127.0.0.1:${server.port}`, { id: randomUUID(), key: 'sk_any' }, 'ck_any');
  });
  afterAll(() => server.stop());

  test('every call returns 503, states that nothing changed and reveals nothing about the database', async () => {
    const id = randomUUID();
    const calls = [api.create(), api.get(id), api.cancel(id), api.progress(id, 'approved')];
    for (const answer of await Promise.all(calls)) {
      expectUnavailable(answer, NOTHING_DONE);
      for (const secret of ['hunter2', 'orders_db', address, address.split(':')[1]!, 'ECONNREFUSED', 'sk_any']) {
        expect(answer.text.replace(/"request_id":"[^"]*"/, '').replaceAll(id, '')).not.toContain(secret);
      }
    }
  });

  test('the API is live but not ready', async () => {
    expect((await api.call('GET', '/health/live', { key: null })).status).toBe(200);
    const ready = await api.call('GET', '/health/ready', { key: null });
    expect([ready.status, ready.body]).toEqual([503, { status: 'unavailable', database: 'unavailable' }]);
  });

  test('calls that need no database work as usual', async () => {
    expectProblem(await api.call('GET', '/nothing'), 404, 'not_found');
    expectProblem(await api.create({}, { key: null }), 401, 'unauthorized');
  });
});

describe('a Postgres outage', () => {
  test('returns 503 while it lasts, and the API recovers by itself', async () => {
    const stack = await startStack({ worker: false });
    const name = new URL(stack.databaseUrl).pathname.slice(1);
    const admin = new pg.Client({ connectionString: stack.databaseUrl.replace(/\/[^/]*$/, '/postgres') });
    await admin.connect();
    const cutOff = () =>
      admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
    try {
      const { id } = (await stack.api.create()).body.data;
      await admin.query(`alter database ${name} allow_connections false`);
      await cutOff();
      for (let count = 0; count < 5; count++) expectUnavailable(await stack.api.get(id), NOTHING_DONE);
      expect((await stack.api.call('GET', '/health/ready')).status).toBe(503);
      await admin.query(`alter database ${name} rename to ${name}_away`);
      expectUnavailable(await stack.api.create({ reference: 'back' }), NOTHING_DONE);
      await admin.query(`alter database ${name}_away rename to ${name}`);
      await admin.query(`alter database ${name} allow_connections true`);
      expect((await stack.api.get(id)).status).toBe(200);
      expect((await stack.api.create({ reference: 'back' })).status).toBe(201);
      expect((await stack.api.call('GET', '/health/ready')).status).toBe(200);
    } finally {
      await admin.end();
      await stack.stop();
    }
  });

  test('during a create call leaves the outcome unknown, and a repeat with the same Idempotency-Key succeeds', async () => {
    const stack = await startStack({ worker: false });
    const { db, api, seller } = stack;
    const { id } = (await api.create()).body.data;
    const holder = await db.connect();
    await holder.query('begin');
    const claim = [seller.id, 'cut', Buffer.alloc(32), id, '{}'];
    await holder.query('insert into idempotency_key values ($1, $2, $3, $4, $5)', claim);
    const call = () => api.create({ reference: 'cut' }, { headers: { 'Idempotency-Key': 'cut' } });
    const waiting = call();
    await new Promise((resolve) => setTimeout(resolve, 300));
    await db.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`);
    expectUnavailable(await waiting, UNKNOWN);
    await holder.query('rollback');
    holder.release();
    expect((await call()).status).toBe(201);
    expect((await db.query(`select from orders where reference = 'cut'`)).rowCount).toBe(1);
    await stack.stop();
  });
});

describe('without Temporal', () => {
  let database: TestDatabase;
  let server: Awaited<ReturnType<typeof startApi>>;
  let api: ReturnType<typeof apiOf>;
  let seller: TestSeller;
  beforeAll(async () => {
    database = await createDatabase();
    server = await startApi(database.url, await onFreePort());
    seller = await createSeller(database.db);
    api = apiOf(`http://127.0.0.1:${server.port}`, seller, await createCheckoutKey(database.db));
  });
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  /** Creates an order and saves these events to its row. */
  async function orderAfter(...events: OrderEvent[]): Promise<string> {
    const { id } = (await api.create()).body.data;
    const history = applyEvents((await findOrder(database.db, id))!, ...events);
    await saveHistory(database.db, history, 60_000);
    return id;
  }

  test('orders can be created and read, and the API is ready', async () => {
    const created = await api.create();
    expect(created.status).toBe(201);
    const read = await api.get(created.body.data.id);
    expect([read.status, read.headers.get('Order-Source')]).toEqual([200, 'snapshot']);
    expect((await api.call('GET', '/health/ready')).status).toBe(200);
  });

  test('a change returns 503 with an unknown outcome', async () => {
    const { id } = (await api.create()).body.data;
    expectUnavailable(await api.cancel(id), UNKNOWN);
    expectUnavailable(await api.progress(id, 'signup_started'), UNKNOWN);
    expect((await api.get(id)).body.data.status).toBe('CREATED');
  });

  test('the 503 arrives within UPDATE_TIMEOUT_MS, whatever the backoff of the Temporal client', async () => {
    const { id } = (await api.create()).body.data;
    // Without the timeout, the retries of some of these calls would take 4 s or longer.
    const patient = await startApi(database.url, await onFreePort(), 2000);
    const its = apiOf(`http://127.0.0.1:${patient.port}`, seller, '');
    // Opens the connections to Postgres before the measurement.
    await Promise.all(Array.from({ length: 20 }, () => its.get(id)));
    const started = performance.now();
    const calls = Array.from({ length: 20 }, () => its.cancel(id));
    const answers = await Promise.all(calls);
    const took = performance.now() - started;
    await patient.stop();
    for (const answer of answers) expectUnavailable(answer, UNKNOWN);
    expect(took).toBeLessThan(3500);
  });

  test('stopping the API waits for the running update of a client that disconnected', async () => {
    const { id } = (await api.create()).body.data;
    const quitting = await startApi(database.url, await onFreePort(), 2000);
    const hangUp = new AbortController();
    const call = fetch(`http://127.0.0.1:${quitting.port}${BASE}/order/${id}/`, {
      method: 'DELETE',
      headers: { Authorization: `Bearer ${seller.key}` },
      signal: hangUp.signal,
    });
    await delay(500);
    hangUp.abort();
    await expect(call).rejects.toThrow();
    const started = performance.now();
    await quitting.stop();
    expect(performance.now() - started).toBeGreaterThan(500);
    // A retry on the closed connection would end this process by now.
    await delay(2000);
  });

  test('final statuses and repeated events are answered from the row', async () => {
    const successful = await orderAfter('signup_started', 'approved', 'completed');
    expectProblem(await api.cancel(successful), 409, 'order_not_cancellable');
    expectProblem(await api.progress(successful, 'failed'), 409, 'transition_not_allowed');
    expect((await api.progress(successful, 'approved')).body.data.status).toBe('SUCCESSFUL');
    const cancelled = await orderAfter('cancel');
    const repeated = await api.cancel(cancelled);
    expect([repeated.status, repeated.text]).toEqual([200, (await api.get(cancelled)).text]);
    expect(repeated.body.data).toHaveProperty('cancelled_at');
  });
});
