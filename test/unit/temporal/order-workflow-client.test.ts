import { type Client, ServiceError } from '@temporalio/client';
import { Metadata, status } from '@grpc/grpc-js';
import { setImmediate } from 'node:timers/promises';
import { createOrderWorkflows } from '../../../src/temporal/order-workflow-client';
import { ORDER } from '../../support/domain-orders';

const settings = { startTimeoutMs: 1000, updateTimeoutMs: 1000, encryptPayloads: false };
const withDeadline = (_: number, call: () => unknown) => call();

/** Workflows whose queries fail as the server lets them. */
function withFailingQuery(details: string) {
  const cause = Object.assign(new Error(details), {
    code: status.FAILED_PRECONDITION,
    details,
    metadata: new Metadata(),
  });
  const query = () => Promise.reject(new ServiceError('Failed to query Workflow', { cause }));
  const client = { workflow: { getHandle: () => ({ query }) }, withDeadline };
  return createOrderWorkflows(client as unknown as Client, settings);
}

test.each(['Workflow task is not scheduled yet.', 'Workflow execution closed before WorkflowTaskStarted event'])(
  'a run that no worker has begun has no state: %s',
  async (details) => {
    expect(await withFailingQuery(details).query('an order', 1000)).toBeUndefined();
  },
);

test.each([
  'no poller seen for task queue recently, worker may be down',
  'Unable to query workflow due to Workflow Task in failed state.',
])('a run that no worker can read is not one without a state: %s', async (details) => {
  await expect(withFailingQuery(details).query('an order', 1000)).rejects.toThrow('Failed to query Workflow');
});

/** An order that is being started, and is cancelled meanwhile. */
function cancelDuringStart(updateTimeoutMs: number) {
  const calls: string[] = [];
  let endStart: ((outcome: Promise<unknown>) => void) | undefined;
  const workflow = {
    start: () => {
      calls.push('start');
      return new Promise((resolve) => (endStart = resolve));
    },
    executeUpdateWithStart: () => {
      calls.push('change');
      return Promise.resolve({ status: 'CANCELLED' });
    },
  };
  const client = { workflow, withDeadline } as unknown as Client;
  const workflows = createOrderWorkflows(client, { ...settings, updateTimeoutMs });
  const start = workflows.start(ORDER, 0).catch((error: unknown) => error);
  const request = { event: 'cancel', actor: 'seller', channel: 'api', reason: null } as const;
  const change = workflows.change(ORDER, request);
  return { calls, start, change, endStart: (outcome: Promise<unknown>) => endStart?.(outcome) };
}

test.each(['succeeds', 'fails'])('a change waits for the start of its order by this process, which %s', async (end) => {
  const { calls, start, change, endStart } = cancelDuringStart(60_000);
  await setImmediate();
  expect(calls).toEqual(['start']);
  endStart(end === 'succeeds' ? Promise.resolve() : Promise.reject(new Error('unavailable')));
  await start;
  expect((await change).status).toBe('CANCELLED');
  expect(calls).toEqual(['start', 'change']);
});

test('a change does not wait for a start that hangs', async () => {
  const { calls, change } = cancelDuringStart(10);
  expect((await change).status).toBe('CANCELLED');
  expect(calls).toEqual(['start', 'change']);
});
