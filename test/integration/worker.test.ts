import path from 'node:path';
import type * as SetUp from '../../src/temporal/server';
import { PACKAGE_ROOT } from '../../src/package';
import { isRunning } from '../support/orders';
import { killProcesses, startProcess } from '../support/processes';
import { useStack } from '../support/stack';
import { until } from '../support/until';

jest.mock('../../src/temporal/server', () => ({
  ...jest.requireActual<typeof SetUp>('../../src/temporal/server'),
  ensureSearchAttributes: () => Promise.reject(new Error('not allowed')),
}));

const stack = useStack({ worker: false, env: { UPDATE_TIMEOUT_MS: '60000' } });
afterAll(() => killProcesses());

test('a worker that may not create search attributes runs, and orders start once an operator has created them', async () => {
  await stack.startWorker();
  const created = await stack.api.create();
  expect(created.status).toBe(201);
  const { ensureSearchAttributes } = jest.requireActual<typeof SetUp>('../../src/temporal/server');
  await ensureSearchAttributes(stack.client);
  await until(() => isRunning(stack.client, created.body.data.id), 'the order starts');
  expect((await stack.api.progress(created.body.data.id, 'signup_started')).body.data.status).toBe('PENDING');
});

test('a worker process in which one of its two Temporal workers fails stops, with exit code 1', async () => {
  const preload = path.join(PACKAGE_ROOT, 'dist/test/support/fail-lender-worker.js');
  const worker = await startProcess(
    'worker',
    { ...stack.env, HOSTED_CHECKOUT: 'true' },
    { nodeOptions: ['--require', preload] },
  );
  await until(() => !worker.isRunning(), 'the process has ended');
  expect(worker.exitCode()).toBe(1);
  expect(worker.lines.join('\n')).toContain('this worker fails');
  // The sweep and the other worker have ended their work.
  expect(worker.lines.join('\n')).toContain('worker stopped');
});
