import { type Client, ServiceError } from '@temporalio/client';
import { Metadata, status } from '@grpc/grpc-js';
import { createOrderWorkflows } from '../../../src/temporal/order-workflows';

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

test('a run that waits for its start delay has no state, and a missing worker is no answer', async () => {
  const delayed = withFailingQuery('Workflow task is not scheduled yet.');
  expect(await delayed.query('an order', 1000)).toBeUndefined();
  const unserved = withFailingQuery('no poller seen for task queue recently, worker may be down');
  await expect(unserved.query('an order', 1000)).rejects.toThrow('Failed to query Workflow');
});
