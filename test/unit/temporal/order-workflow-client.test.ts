import { type Client, ServiceError } from '@temporalio/client';
import { Metadata, status } from '@grpc/grpc-js';
import { createOrderWorkflows } from '../../../src/temporal/order-workflow-client';

/** Workflows whose queries fail as the server lets them. */
function withFailingQuery(details: string) {
  const cause = Object.assign(new Error(details), {
    code: status.FAILED_PRECONDITION,
    details,
    metadata: new Metadata(),
  });
  const query = () => Promise.reject(new ServiceError('Failed to query Workflow', { cause }));
  const client = {
    workflow: { getHandle: () => ({ query }) },
    withDeadline: (_: number, call: () => unknown) => call(),
  };
  const settings = { startTimeoutMs: 1000, updateTimeoutMs: 1000, encryptPayloads: false };
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
