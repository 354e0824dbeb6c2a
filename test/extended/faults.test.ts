import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../../tools/local-stack/ports';
import { type TemporalServer, startTemporal } from '../../tools/local-stack/temporal-server';
import { createOrder, isRunning, openOrder, runsOf, queryOrder } from '../support/orders';
import { registry } from '../../src/telemetry/metrics';
import { expectProblem } from '../support/problems';
import { parseMetrics } from '../support/prometheus';
import { inBatches } from '../support/in-batches';
import { holdTransaction, patientUrl, statementsWaiting } from '../support/database';
import { type ServiceProcess, killProcesses, startProcess } from '../support/processes';
import { type Stack, startStack } from '../support/stack';
import { until } from '../support/until';

jest.setTimeout(600_000);

let dataDir: string;
let temporal: TemporalServer;
let options: Parameters<typeof startTemporal>[0];
let stack: Stack;

afterEach(killProcesses);

/** A Temporal server that these tests can stop and kill; the API in this process; workers as processes. */
beforeAll(async () => {
  dataDir = mkdtempSync(path.join(tmpdir(), 'order-service-faults-'));
  options = { dataDir, port: await freePort(), uiPort: 0, log: () => undefined, ui: false };
  temporal = await startTemporal(options);
  // A call whose worker is killed waits for the update timeout.
  stack = await startStack({ worker: false, address: temporal.address, env: { UPDATE_TIMEOUT_MS: '5000' } });
});
afterAll(async () => {
  await stack.stop();
  await temporal.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

function startWorkerProcess(address = temporal.address): Promise<ServiceProcess> {
  return startProcess('worker', { ...stack.env, TEMPORAL_ADDRESS: address });
}

test('a worker without a task stops while Temporal is frozen', async () => {
  const worker = await startWorkerProcess();
  await temporal.kill('SIGSTOP');
  try {
    await worker.signal('SIGTERM');
    expect(worker.exitCode()).toBe(0);
    expect(worker.lines.join('\n')).toContain('Temporal does not answer');
  } finally {
    await temporal.kill('SIGCONT');
  }
});

test('while Temporal is down, changes fail without a call, and new orders run once it is up', async () => {
  const worker = await startWorkerProcess();
  const open = await openOrder(stack);
  await temporal.stop();
  const ids: string[] = [];
  try {
    // The API learns of the outage from a call that takes long.
    const first = stack.api.cancel(open);
    await until(isKnownDown, 'the API knows that Temporal is down');
    const refused = await stack.api.cancel(open);
    expectProblem(refused, 503, 'service_unavailable');
    // The outcome of a call that has waited for Temporal would be unknown.
    expect([refused.headers.get('Retry-After'), refused.body.detail]).toEqual([
      '5',
      expect.stringContaining('Nothing changed'),
    ]);
    expectProblem(await first, 503, 'service_unavailable');
    await inBatches(Array<undefined>(30).fill(undefined), 5, async () => {
      ids.push((await createOrder(stack.api)).id);
    });
    expect((await stack.api.call('GET', '/health/ready')).status).toBe(200);
    const read = await stack.api.get(ids[0]!);
    expect([read.status, read.headers.get('Order-Source')]).toEqual([200, 'snapshot']);
  } finally {
    temporal = await startTemporal(options);
  }
  await until(async () => (await stack.api.cancel(open)).status === 200, 'changes succeed again');
  await until(async () => !(await isKnownDown()), 'the API knows that Temporal is up');
  for (const id of ids) await until(() => isRunning(stack.client, id).catch(() => false), 'the workflow runs');
  for (const id of ids) {
    await until(async () => (await runsOf(stack, id)).length > 0, 'visibility lists the run');
    expect(await runsOf(stack, id)).toHaveLength(1);
    expect((await queryOrder(stack.client, id))!.status).toBe('CREATED');
  }
  await worker.signal('SIGTERM');
});

async function isKnownDown(): Promise<boolean> {
  return parseMetrics(await registry.metrics()).value('order_service_open_breakers', { breaker: 'temporal' }) === 1;
}

test('on SIGTERM a worker is no longer ready, even while a background job waits for a lock, and exits with 0', async () => {
  const worker = await startProcess('worker', { ...stack.env, DATABASE_URL: patientUrl(stack.databaseUrl) });
  const isReady = () =>
    fetch(`http://127.0.0.1:${worker.port}/health/ready`).then(
      ({ status }) => status === 200,
      () => false,
    );
  await until(isReady, 'the worker is ready');
  const lock = await holdTransaction(stack.db, 'lock table webhook_secret in access exclusive mode');
  await until(
    async () => (await statementsWaiting(stack.db, 'webhook_secret')) > 0,
    'a background job waits for the lock',
  );
  const exited = worker.signal('SIGTERM');
  await until(async () => !(await isReady()), 'the worker is not ready');
  expect(await statementsWaiting(stack.db, 'webhook_secret')).toBeGreaterThan(0);
  await lock.rollback();
  await exited;
  expect(worker.exitCode()).toBe(0);
});
