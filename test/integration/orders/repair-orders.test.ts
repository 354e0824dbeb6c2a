import { randomUUID } from 'node:crypto';
import { temporal } from '@temporalio/proto';
import { NativeConnection, Worker } from '@temporalio/worker';
import pg from 'pg';
import { findOrder } from '../../../src/db/orders';
import { createOrderWorkflows } from '../../../src/temporal/order-workflow-client';
import { ORDER_TASK_QUEUE } from '../../../workflows/messages';
import { moveClock } from '../../support/clock';
import { constants } from '../../support/constants';
import { insertNewOrder } from '../../support/new-orders';
import {
  approveInRow,
  isRunning,
  noWebhookPending,
  openOrder,
  queryOrder,
  runsOf,
  setBack,
  statusOf,
  timelineOf,
} from '../../support/orders';
import { expectProblem } from '../../support/problems';
import { useReceiver } from '../../support/receiver';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';

/** Workers repair orders within moments. */
const stack = useStack({ env: constants({ background: { intervalMs: 100, startAfterMs: 0 } }) });
const receiver = useReceiver('test');

afterEach(() => jest.restoreAllMocks());

const workflow = (id: string) => stack.client.workflow.getHandle(`order-${id}`);

const ownWorkflows = () =>
  createOrderWorkflows(stack.client, { startTimeoutMs: 5000, updateTimeoutMs: 5000, encryptPayloads: false });

/** Resets the newest run to its first task, without the messages that it got since. */
async function resetRun(id: string): Promise<void> {
  const { events } = await workflow(id).fetchHistory();
  const task = events!.find(({ workflowTaskCompletedEventAttributes }) => workflowTaskCompletedEventAttributes)!;
  await stack.client.workflowService.resetWorkflowExecution({
    namespace: stack.client.options.namespace,
    workflowExecution: { workflowId: `order-${id}` },
    workflowTaskFinishEventId: task.eventId!,
    resetReapplyExcludeTypes: [
      temporal.api.enums.v1.ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL,
      temporal.api.enums.v1.ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE,
    ],
    requestId: randomUUID(),
  });
}

/** Opens an order, terminates its run, and waits until a worker has resumed it. */
async function resumedOrder(): Promise<string> {
  const id = await openOrder(stack);
  await until(async () => (await runsOf(stack, id)).length === 1, 'visibility lists the run');
  await workflow(id).terminate('a test');
  await until(() => isRunning(stack.client, id), 'a new run is open');
  return id;
}

test('an order whose start the API did not make is started by a worker', async () => {
  // As if the API had died after its answer.
  const { id } = await insertNewOrder(stack.db);
  await until(() => isRunning(stack.client, id), 'its workflow runs');
  await until(async () => (await findOrder(stack.db, id))?.started, 'the start request is done');
});

test('a terminated run is replaced by one that resumes from the row and delivers what is pending', async () => {
  receiver.answerWith(500);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'approved']);
  await workflow(id).terminate('a test');
  receiver.answerWith(200);
  await until(() => isRunning(stack.client, id), 'a new run is open');
  const saved = await until(() => queryOrder(stack.client, id).catch(() => null), 'the new run has read the row');
  expect(saved).toMatchObject({ status: 'APPROVED', version: 3 });
  expect((await stack.api.progress(id, 'completed')).body.data.status).toBe('SUCCESSFUL');
  await until(() => noWebhookPending(stack, [id]), 'all webhooks are delivered');
});

test('a run that gets no task is replaced once a person terminates it', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await stack.client.workflow.start('orderWorkflow', {
    workflowId: `order-${id}`,
    // As if Temporal had lost its task: no worker looks here.
    taskQueue: 'nobody',
    workflowIdConflictPolicy: 'TERMINATE_EXISTING',
    args: [{ orderId: id }],
  });
  await workflow(id).terminate('a test');
  const answer = () => queryOrder(stack.client, id).catch(() => undefined);
  await until(async () => (await answer())?.version === 2, 'a new run answers');
});

test('a row of a restored backup is not resumed if a run of its order has completed since', async () => {
  const id = await openOrder(stack, {}, ['signup_started', 'approved']);
  await workflow(id).terminate('a test');
  await until(() => isRunning(stack.client, id), 'a new run is open');
  expect((await stack.api.progress(id, 'completed')).status).toBe(200);
  await workflow(id).result();
  // The next round finds the terminated run again.
  await setBack(stack.db, id, 3, 'APPROVED');
  const behind = async () => (await findOrder(stack.db, id))?.behindVersion === 4;
  await until(behind, 'the row waits for reconcile');
  expect((await stack.api.cancel(id)).status).toBe(503);
  expect(await runsOf(stack, id)).toHaveLength(2);
});

test('a change of an order whose row a backup has set back does not begin again from there', async () => {
  const id = await openOrder(stack, {}, ['signup_started', 'approved', 'completed']);
  await workflow(id).result();
  await setBack(stack.db, id, 3, 'APPROVED');
  const { detail } = expectProblem(await stack.api.cancel(id), 503, 'service_unavailable');
  expect(detail).toContain('Nothing changed.');
  expect(await runsOf(stack, id)).toHaveLength(1);
});

test('a run that lacks changes after a reset is replaced by one that reads the row', async () => {
  const id = await openOrder(stack, {}, ['signup_started', 'approved']);
  await resetRun(id);
  await until(
    async () => (await queryOrder(stack.client, id).catch(() => null))?.version === 3,
    'a new run has read the row',
  );
  expect((await stack.api.progress(id, 'completed')).body.data.status).toBe('SUCCESSFUL');
});

test('a run that has saved a change and does not know yet is kept, and its change is acknowledged', async () => {
  const id = await resumedOrder();
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  let hasSaved = false;
  // eslint-disable-next-line @typescript-eslint/unbound-method
  const query = pg.Client.prototype.query as (this: pg.Client, ...args: unknown[]) => unknown;
  jest.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const [statement, values, callback] = args as [{ name?: string }, unknown, (...results: unknown[]) => void];
    // Of a statement without a callback: its promise.
    if (statement.name !== 'save_change' || typeof callback !== 'function') return query.apply(this, args) as undefined;
    return query.call(this, statement, values, (...results: unknown[]) => {
      hasSaved = true;
      void released.then(() => {
        callback(...results);
      });
    }) as undefined;
  });
  const change = stack.api.progress(id, 'signup_started');
  await until(() => hasSaved, 'the change is saved');
  expect(await findOrder(stack.db, id)).toMatchObject({ version: 2 });
  // Two rounds, which find the terminated run of the first order again.
  await resumedOrder();
  await resumedOrder();
  release();
  expect((await change).body.data.status).toBe('PENDING');
  expect(await runsOf(stack, id)).toHaveLength(2);
});

test('terminated runs are replaced although the clock of the worker is ten minutes ahead', async () => {
  await resumedOrder();
  moveClock(600_000);
  for (let round = 0; round < 3; round++) await resumedOrder();
});

test('a stuck run is replaced at most hourly although the clock of the worker is two hours ahead', async () => {
  moveClock(7_200_000);
  const id = await resumedOrder();
  const { workflow: runs } = stack.client;
  const listed = () => runs.count(`WorkflowId = 'order-${id}' and ExecutionStatus = 'Terminated'`);
  await until(async () => (await listed()).count === 1, 'visibility lists the terminated run');
  expect(await ownWorkflows().wasJustTerminated(id)).toBe(true);
});

test('of two workers that replace a run at the same time, one has done it', async () => {
  const id = await openOrder(stack, {}, ['failed']);
  await workflow(id).result();
  const order = (await findOrder(stack.db, id))!;
  expect((await Promise.all([1, 2].map(() => ownWorkflows().resume(order)))).sort()).toEqual([false, true]);
});

test('the daily look resumes an order whose workflow was deleted, and ends the open run of a settled order', async () => {
  receiver.answerWith(500);
  const open = await openOrder(stack, {}, ['signup_started']);
  const unsent = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  const settled = await openOrder(stack);
  const created = await queryOrder(stack.client, settled);
  const healthy = await openOrder(stack);
  await stack.api.cancel(settled);
  await workflow(settled).result();
  const { namespace } = stack.client.options;
  for (const id of [open, unsent]) {
    await until(async () => (await runsOf(stack, id)).length === 1, 'visibility lists the run');
    await stack.client.workflowService.deleteWorkflowExecution({
      namespace,
      workflowExecution: { workflowId: `order-${id}` },
    });
    await until(async () => (await statusOf(stack.client, id)) === undefined, 'the workflow is deleted');
    await until(async () => (await runsOf(stack, id)).length === 0, 'visibility does not list it');
  }
  // As a reset leaves it. On the development server, another loop may take a run that was reset for one whose tasks fail.
  await stack.client.workflow.start('orderWorkflow', {
    ...{ workflowId: `order-${settled}`, taskQueue: ORDER_TASK_QUEUE },
    args: [{ orderId: settled, state: created }],
  });
  const runs = () => runsOf(stack, settled);
  await until(async () => (await runs()).length === 2, 'visibility lists the open run');
  receiver.answerWith(200);
  // A worker begins with it.
  await stack.stopWorker();
  await stack.startWorker();
  await until(
    async () => (await statusOf(stack.client, settled)) === 'TERMINATED',
    'the run of the settled order ends',
  );
  await until(() => isRunning(stack.client, open), 'a new run is open');
  await until(() => noWebhookPending(stack, [unsent]), 'the webhook is delivered');
  expect(await findOrder(stack.db, settled)).toMatchObject({ status: 'UNSUCCESSFUL', version: 2 });
  expect([(await runs()).length, (await runsOf(stack, healthy)).length]).toEqual([2, 1]);
});

test('the run of a closed order is resumed only if a webhook is pending', async () => {
  receiver.answerWith(500);
  const pending = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  const done = await openOrder(stack, {}, ['failed']);
  await workflow(done).result();
  await workflow(pending).terminate('a test');
  receiver.answerWith(200);
  await until(() => noWebhookPending(stack, [pending]), 'its webhook is delivered');
  await until(async () => (await statusOf(stack.client, pending)) === 'COMPLETED', 'its new run has completed');
  expect(await runsOf(stack, done)).toHaveLength(1);
});

test('a run that fails because the row has another change is replaced', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await approveInRow(stack.db, id, '0');
  await workflow(id).signal('customerProgress', { event: 'approved' });
  await until(
    async () => (await queryOrder(stack.client, id).catch(() => null))?.version === 3,
    'a new run has read the row',
  );
  expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual(['created', 'signup_started', 'approved']);
});

test('a run whose row lacks changes fails and is not resumed', async () => {
  const id = await openOrder(stack, {}, ['signup_started', 'approved']);
  await setBack(stack.db, id, 2, 'PENDING');
  await workflow(id).signal('customerProgress', { event: 'completed' });
  await until(async () => (await statusOf(stack.client, id)) === 'FAILED', 'the run has failed');
  // Another run is resumed later than this one would be.
  const other = await openOrder(stack, {}, ['signup_started']);
  await until(async () => (await runsOf(stack, id)).length === 1, 'visibility lists the failed run');
  await workflow(other).terminate('a test');
  await until(() => isRunning(stack.client, other), 'the other order is resumed');
  expect(await statusOf(stack.client, id)).toBe('FAILED');
});

test('a run whose workflow tasks keep failing is replaced', async () => {
  const id = randomUUID();
  // Its input cannot be read, so each of its tasks fails.
  await stack.client.workflow.start('orderWorkflow', {
    taskQueue: ORDER_TASK_QUEUE,
    workflowId: `order-${id}`,
    args: [null],
  });
  await insertNewOrder(stack.db, { id });
  await until(
    async () => (await queryOrder(stack.client, id).catch(() => null))?.version === 1,
    'a new run has read the row',
  );
  expect(await runsOf(stack, id)).toHaveLength(2);
});

test('a run whose task timed out before it kept failing is replaced', async () => {
  const id = randomUUID();
  const taskQueue = `wedged-${id}`;
  const { namespace } = stack.client.options;
  await stack.client.workflow.start('orderWorkflow', {
    taskQueue,
    workflowId: `order-${id}`,
    workflowTaskTimeout: '1 second',
    args: [{ orderId: id }],
  });
  // As an old worker that is killed while it has the task.
  await stack.client.withDeadline(Date.now() + 30_000, () =>
    stack.client.workflowService.pollWorkflowTaskQueue({ namespace, taskQueue: { name: taskQueue } }),
  );
  const connection = await NativeConnection.connect({ address: process.env.TEST_TEMPORAL_ADDRESS! });
  const workflowsPath = require.resolve('../../support/wedged-workflow');
  const worker = await Worker.create({ connection, namespace, taskQueue, workflowsPath });
  await worker.runUntil(async () => {
    await insertNewOrder(stack.db, { id });
    await until(
      async () => (await queryOrder(stack.client, id).catch(() => null))?.version === 1,
      'a new run has read the row',
    );
  });
  await connection.close();
});
