import { QueryRejectedError } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import type { Order } from '../../../src/domain/order';
import { createLiveOrderReader } from '../../../src/orders/live-order-reader';
import type { OrderWorkflows } from '../../../src/temporal/order-workflows';

const ORDER = { id: 'order' } as Order;
const STATE = { version: 2 };

const { WORKFLOW_EXECUTION_STATUS_COMPLETED } = temporal.api.enums.v1.WorkflowExecutionStatus;

const closedRun = () => Promise.reject(new QueryRejectedError(WORKFLOW_EXECUTION_STATUS_COMPLETED));
const late = () => Promise.reject(new Error('deadline exceeded'));

test('reads of closed runs that end too late do not keep other reads from asking the workflow', async () => {
  const query = jest.fn<Promise<unknown>, []>(closedRun);
  const onClosed = jest.fn();
  const workflows = { query, inspect: late } as unknown as OrderWorkflows;
  const reader = createLiveOrderReader(workflows, 150, onClosed);
  for (let reads = 0; reads < 6; reads += 1) expect(await reader.read(ORDER)).toBeUndefined();
  expect(onClosed).toHaveBeenCalledTimes(6);
  query.mockResolvedValue(STATE);
  expect(await reader.read(ORDER)).toEqual(STATE);
});

test('queries that end too late keep other reads from asking the workflow', async () => {
  const query = jest.fn<Promise<unknown>, []>(late);
  const reader = createLiveOrderReader({ query } as unknown as OrderWorkflows, 150, jest.fn());
  for (let reads = 0; reads < 6; reads += 1) expect(await reader.read(ORDER)).toBeUndefined();
  expect(query).toHaveBeenCalledTimes(5);
});
