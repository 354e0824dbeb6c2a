import { Metadata, status } from '@grpc/grpc-js';
import { type Client, ServiceError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { ChangeRefused, changeThroughWorkflow } from '../../../src/temporal/change-through-workflow';
import { CHANGE_REFUSED_FAILURE } from '../../../workflows/messages';
import { IN_STATUS, request } from '../../support/order-histories';

const dropped = new ServiceError('Workflow Update failed', {
  cause: Object.assign(new Error('9 FAILED_PRECONDITION'), {
    code: status.FAILED_PRECONDITION,
    details: 'unexpected workflow task failure',
    metadata: new Metadata(),
  }),
});
const refused = new WorkflowUpdateFailedError(
  'Workflow Update failed',
  ApplicationFailure.nonRetryable('completed is not allowed', CHANGE_REFUSED_FAILURE, 'PENDING'),
);

/** Reports `completed` for a PENDING order to a workflow whose updates end one after the other as `outcomes` say. */
function complete(...outcomes: Error[]): Promise<unknown> {
  const executeUpdate = jest.fn();
  for (const outcome of outcomes) executeUpdate.mockRejectedValueOnce(outcome);
  const client = { workflow: { getHandle: () => ({ executeUpdate }) } } as unknown as Client;
  const start = () => {
    throw new Error('no run has to be started');
  };
  const row = { ...IN_STATUS.PENDING, started: true };
  return changeThroughWorkflow(client, row, request('completed'), { first: start, next: start });
}

test('a change that the workflow refuses rejects with ChangeRefused', async () => {
  await expect(complete(refused)).rejects.toBeInstanceOf(ChangeRefused);
});

// Temporal itself would have to drop two changes of one task, and hand out their repetitions in the other order.
test('a change that was dropped, and perhaps saved, is not refused when it is repeated', async () => {
  await expect(complete(dropped, refused)).rejects.toBe(dropped);
});

test('a change that Temporal drops four times rejects with its last error', async () => {
  await expect(complete(dropped, dropped, dropped, dropped)).rejects.toBe(dropped);
});
