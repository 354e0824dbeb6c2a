import { randomUUID } from 'node:crypto';
import pino from 'pino';
import type { ProblemBody } from '../../../src/contracts/problem';
import { findOrder } from '../../../src/db/orders';
import { POOL_TIMEOUTS } from '../../../src/db/pool';
import { createCheckoutKey, createSellerKey } from '../../support/keys';
import { freePort } from '../../../tools/local-stack/ports';
import type { OrderEvent } from '../../../src/domain/order';
import { type Api, type ApiResponse, BASE, apiOf } from '../../support/api';
import { type ApiServer, startApiWithoutTemporal } from '../../support/api-without-temporal';
import { constants } from '../../support/constants';
import { saveChanges } from '../../support/new-orders';
import { applyEvents } from '../../support/domain-orders';
import { holdDelays } from '../../support/clock';
import { alterDatabase, holdTransaction, statementsWaiting, useDatabase } from '../../support/database';
import { expectProblem } from '../../support/problems';
import { startRecordingTcpServer, stopRecordingServers } from '../../support/recording-server';
import { createSeller, type TestSeller, useStack } from '../../support/stack';
import { until } from '../../support/until';
import { withApi } from '../../support/with-api';

const NOTHING_DONE = /Nothing changed/;
const UNKNOWN = /outcome is unknown/;
const REPEAT = /[Rr]epeating the (same )?call is safe/;

function expectUnavailable(response: ApiResponse, detail: RegExp): ProblemBody {
  const problem = expectProblem(response, 503, 'service_unavailable');
  expect(Number(response.headers.get('Retry-After'))).toBeGreaterThan(0);
  expect(problem.detail).toMatch(detail);
  expect(problem.detail).toMatch(REPEAT);
  return problem;
}

/** Starts an API without Temporal. */
const startApi = (databaseUrl: string) =>
  startApiWithoutTemporal({
    DATABASE_URL: databaseUrl,
    ...constants({ startTimeoutMs: 500 }),
    UPDATE_TIMEOUT_MS: '500',
  });

describe('without Postgres', () => {
  let server: ApiServer;
  let address: string;
  let api: ReturnType<typeof apiOf>;
  beforeAll(async () => {
    address = `127.0.0.1:${await freePort()}`;
    server = await startApi(`postgres://orders:hunter2@${address}/orders_db`);
    api = apiOf(server.url, { id: randomUUID(), key: 'sk_any' }, 'ck_any');
  });
  afterAll(() => server.stop());

  test('every call returns 503, states that nothing changed and reveals nothing about the database', async () => {
    const id = randomUUID();
    const calls = [api.create(), api.get(id), api.cancel(id), api.progress(id, 'approved')];
    for (const response of await Promise.all(calls)) {
      expectUnavailable(response, NOTHING_DONE);
      for (const secret of ['hunter2', 'orders_db', address, address.split(':')[1]!, 'ECONNREFUSED', 'sk_any']) {
        expect(response.text.replace(/"request_id":"[^"]*"/, '').replaceAll(id, '')).not.toContain(secret);
      }
    }
  });

  test('the API is live but not ready', async () => {
    expect((await api.call('GET', '/health/live', { key: null })).status).toBe(200);
    const ready = await api.call('GET', '/health/ready', { key: null });
    expect([ready.status, ready.body]).toEqual([503, { status: 'unavailable', database: 'unavailable' }]);
  });

  test('load balancers leave out an API that has never reached the database', async () => {
    expect((await api.call('GET', '/health/serving', { key: null })).status).toBe(503);
  });

  test('calls with a key do not count against the limit of their address, because the key may be valid', async () => {
    const limited = await startApiWithoutTemporal({
      DATABASE_URL: `postgres://orders:hunter2@${address}/orders_db`,
      RATE_LIMIT_ADDRESS: '2',
    });
    const shop = apiOf(limited.url, { id: randomUUID(), key: 'sk_any' }, 'ck_any');
    const call = (options: { key?: null }) => shop.get(randomUUID(), options);
    for (let count = 0; count < 4; count++) expect((await call({})).status).toBe(503);
    const answers = await Promise.all([1, 2, 3].map(() => call({ key: null })));
    expect(answers.map(({ status }) => status).sort()).toEqual([401, 401, 429]);
    await limited.stop();
  });

  test('calls that need no database work as usual', async () => {
    expectProblem(await api.call('GET', '/nothing'), 404, 'not_found');
    expectProblem(await api.create({}, { key: null }), 401, 'unauthorized');
  });
});

describe('a Postgres outage', () => {
  const stack = useStack({ worker: false });
  const endWaitingConnections = () =>
    stack.db.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`);

  test('load balancers leave out an API that shuts down, while it still takes requests', async () => {
    const stopping = await startApiWithoutTemporal({ DATABASE_URL: stack.databaseUrl, SHUTDOWN_DELAY_MS: '7000' });
    const serving = async () => (await fetch(`${stopping.url}/health/serving`)).status;
    await until(async () => (await serving()) === 200, 'the API has reached the database');
    const shutdownDelay = holdDelays(7000);
    const stopped = stopping.stop();
    try {
      expect(await serving()).toBe(503);
      expect((await fetch(`${stopping.url}/openapi.json`)).status).toBe(200);
    } finally {
      shutdownDelay.release();
      await stopped;
    }
    await expect(serving()).rejects.toThrow();
  });

  test('returns 503 while it lasts, and the API recovers by itself', async () => {
    const { api, db, databaseUrl, seller } = stack;
    // A process that remembers the key would reach the insert, and only know that it failed.
    const unused = await createSellerKey(db, seller.id);
    const name = new URL(databaseUrl).pathname.slice(1);
    const { id } = (await api.create()).body.data;
    await alterDatabase(databaseUrl, 'allow_connections false');
    for (let count = 0; count < 5; count++) expectUnavailable(await api.get(id), NOTHING_DONE);
    expect((await api.call('GET', '/health/ready')).status).toBe(503);
    // Load balancers still send requests, so that the API answers its own 503s.
    expect((await api.call('GET', '/health/serving')).status).toBe(200);
    await alterDatabase(databaseUrl, `rename to ${name}_away`);
    expectUnavailable(await api.create({ reference: 'back' }, { key: unused }), NOTHING_DONE);
    await alterDatabase(`${databaseUrl}_away`, `rename to ${name}`);
    await alterDatabase(databaseUrl, 'allow_connections true');
    expect((await api.get(id)).status).toBe(200);
    expect((await api.create({ reference: 'back' })).status).toBe(201);
    await until(async () => (await api.call('GET', '/health/ready')).status === 200, 'the API is ready');
  });

  test('during a create call leaves the outcome unknown, and a repeat with the same Idempotency-Key succeeds', async () => {
    const { db, api, seller } = stack;
    const { id } = (await api.create()).body.data;
    const values = [seller.id, 'cut', Buffer.alloc(32), id, '{}'];
    const first = await holdTransaction(db, 'insert into idempotency_key values ($1, $2, $3, $4, $5)', values);
    const call = () => api.create({ reference: 'cut' }, { headers: { 'Idempotency-Key': 'cut' } });
    const waiting = call();
    await until(async () => (await statementsWaiting(db, 'idempotency_key')) === 1, 'the call waits');
    await endWaitingConnections();
    expectUnavailable(await waiting, UNKNOWN);
    await first.rollback();
    expect((await call()).status).toBe(201);
    expect((await db.query(`select from orders where reference = 'cut'`)).rowCount).toBe(1);
  });

  test('during a rotation leaves the outcome unknown, and a repeat is not called safe', async () => {
    const { db, api, seller } = stack;
    const held = await holdTransaction(db, 'select from seller where id = $1 for update', [seller.id]);
    const rotating = api.call('POST', `${BASE}/seller/${seller.id}/webhook_secret/rotate/`);
    await until(async () => (await statementsWaiting(db, 'from seller')) === 1, 'the call waits');
    await endWaitingConnections();
    const { detail } = expectProblem(await rotating, 503, 'service_unavailable');
    await held.rollback();
    expect(detail).toMatch(UNKNOWN);
    expect(detail).toMatch(/may create another secret/);
    expect(detail).not.toMatch(/is safe/);
  });

  const ready = async () => (await stack.api.call('GET', '/health/ready', { key: null })).status;
  const turnsTo = (status: number) => until(async () => (await ready()) === status, `/health/ready returns ${status}`);

  test('/health/ready returns 503 while Postgres is read-only', async () => {
    await turnsTo(200);
    await alterDatabase(stack.databaseUrl, 'set default_transaction_read_only = on');
    await turnsTo(503);
    await alterDatabase(stack.databaseUrl, 'reset all');
    await turnsTo(200);
  });

  test('/health/ready returns 503 while Postgres does not respond', async () => {
    const held = await holdTransaction(stack.db, 'lock table schema_migration');
    await turnsTo(503);
    await held.rollback();
    await turnsTo(200);
  });

  test('/health/ready returns 200 while requests use all connections of its pool', () =>
    withApi(stack, { DATABASE_POOL_SIZE: '1' }, async (api) => {
      const { id } = (await api.create()).body.data;
      const held = await holdTransaction(stack.db, 'lock table orders');
      let isHeld = true;
      const requests = (async () => {
        // Each waits until its lock timeout.
        while (isHeld) await api.get(id);
      })();
      // Postgres shows the first 1,024 bytes of a statement.
      const isInUse = async () => (await statementsWaiting(stack.db, 'select id as "id", seller_id')) === 1;
      await until(isInUse, 'the pool is in use');
      const isReady = async () => (await api.call('GET', '/health/ready', { key: null })).status === 200;
      await until(async () => (await isReady()) && (await isInUse()), 'the API is ready while the pool is in use');
      isHeld = false;
      await held.rollback();
      await requests;
    }));

  test('a call that gets no connection in time returns 503 overloaded', async () => {
    // Tests wait longer for a connection than the product does.
    const waitMs = POOL_TIMEOUTS.connectionTimeoutMillis;
    POOL_TIMEOUTS.connectionTimeoutMillis = 3000;
    const held = await holdTransaction(stack.db, 'lock table orders in share row exclusive mode');
    try {
      // One connection for inserts, which the first order holds.
      await withApi(stack, { DATABASE_POOL_SIZE: '1' }, async (api) => {
        const responses = await Promise.all([api.create(), api.create()]);
        const refused = responses.find(({ body }) => body.code === 'overloaded')!;
        expectProblem(refused, 503, 'overloaded');
        expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0);
      });
    } finally {
      POOL_TIMEOUTS.connectionTimeoutMillis = waitMs;
      await held.rollback();
    }
  });

  test('an unexpected error of Postgres returns 500 without its message', async () => {
    await stack.db.query('alter table orders rename to orders_renamed');
    try {
      const response = await stack.api.get(randomUUID());
      expectProblem(response, 500, 'internal_error');
      expect(response.text).not.toContain('relation');
    } finally {
      await stack.db.query('alter table orders_renamed rename to orders');
    }
  });
});

describe('without Temporal', () => {
  let server: ApiServer;
  afterAll(() => server.stop());
  const database = useDatabase();
  let api: ReturnType<typeof apiOf>;
  let seller: TestSeller;
  beforeAll(async () => {
    server = await startApi(database.url);
    seller = await createSeller(database.db);
    api = apiOf(server.url, seller, await createCheckoutKey(database.db));
  });

  /** Creates an order and saves these events to its row. */
  async function orderAfter(...events: OrderEvent[]): Promise<string> {
    const { id } = (await api.create()).body.data;
    const order = applyEvents((await findOrder(database.db, id))!, ...events);
    await saveChanges(database.db, order);
    return id;
  }

  test('orders can be created and read, and the API is ready', async () => {
    const created = await api.create();
    expect(created.status).toBe(201);
    const read = await api.get(created.body.data.id);
    expect([read.status, read.headers.get('Order-Source')]).toEqual([200, 'snapshot']);
    await until(async () => (await api.call('GET', '/health/ready')).status === 200, 'the API is ready');
  });

  test('a change returns 503 with an unknown outcome', async () => {
    const { id } = (await api.create()).body.data;
    const changes = [(its: Api) => its.cancel(id), (its: Api) => its.progress(id, 'signup_started')];
    for (const change of changes) {
      // A new API, because one that knows of the outage makes no calls.
      const fresh = await startApi(database.url);
      expectUnavailable(await change(apiOf(fresh.url, seller, api.checkoutKey)), UNKNOWN);
      await fresh.stop();
    }
    expect((await api.get(id)).body.data.status).toBe('CREATED');
  });

  test('a resend of many webhooks returns 503', async () => {
    const path = `${BASE}/seller/${seller.id}/webhook_event/resend/`;
    expectUnavailable(
      await api.call('POST', path, { body: { data: { state: 'exhausted' } } }),
      /resend could not be requested/,
    );
  });

  test('stopping the API waits for the running update of a client that disconnected', async () => {
    const { id } = (await api.create()).body.data;
    // It accepts connections and does not answer.
    const temporal = await startRecordingTcpServer(() => undefined);
    const failures: { err: { message: string } }[] = [];
    const log = pino({ level: 'error' }, { write: (line) => void failures.push(JSON.parse(line)) });
    const env = { DATABASE_URL: database.url, UPDATE_TIMEOUT_MS: '2000' };
    const quitting = await startApiWithoutTemporal(env, log, temporal.port);
    const hangUp = new AbortController();
    const call = fetch(`${quitting.url}${BASE}/order/${id}/`, {
      method: 'DELETE',
      headers: { Authorization: `Bearer ${seller.key}` },
      signal: hangUp.signal,
    });
    await until(() => temporal.sockets.length > 0, 'the update waits for Temporal');
    hangUp.abort();
    await expect(call).rejects.toThrow();
    await quitting.stop();
    expect(failures.map(({ err }) => err.message)).toEqual([expect.stringMatching(/deadline/i)]);
    await stopRecordingServers();
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
