import { temporal } from '@temporalio/proto';
import { checkTemporal } from '../../../src/cli/status-checks';
import { findOrder } from '../../../src/db/find-orders';
import { inTransaction } from '../../../src/db/pool';
import type { PendingWebhook } from '../../../src/db/webhook-events';
import { reconcile } from '../../../src/orders/reconcile';
import { registry } from '../../../src/telemetry/metrics';
import { inspectWorkflow } from '../../../src/temporal/inspect-workflow';
import { createRunLists } from '../../../src/temporal/list-runs';
import {
  cancelOrderUpdate,
  cancelSignal,
  customerProgressSignal,
  reportProgressUpdate,
  resendWebhooksSignal,
} from '../../../workflows/messages';
import { BASE } from '../../support/api';
import { applied } from '../../support/checkout';
import {
  acceptVersions,
  approveInRow,
  isRunning,
  openOrder,
  postponeSweep,
  queryOrder,
  refuseVersion,
  restoreApproved,
  runsOf,
  setBack,
  statusOf,
  timelineOf,
  versionOfRow,
  waitsOnTimer,
} from '../../support/orders';
import { parseMetrics } from '../../support/prometheus';
import { useReceiver } from '../../support/receiver';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';
import { msUntilSweep, saveHistory } from '../../support/new-orders';
import { applyEvents } from '../../support/order-histories';

// A GET waits for the workflow also on a busy machine.
const stack = useStack({ env: { READ_BUDGET_MS: '5000' } });
const receiver = useReceiver('test');

const workflow = (id: string) => stack.client.workflow.getHandle(`order-${id}`);

test('the sweep resumes the terminated workflow of an open order', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await workflow(id).terminate('an operator pressed the button');
  await until(() => isRunning(stack.client, id), 'the sweep has resumed the workflow');
  const resumed = await until(() => queryOrder(stack.client, id), 'the workflow has read the row');
  expect(resumed.status).toBe('PENDING');
  expect((await stack.api.progress(id, 'approved')).status).toBe(200);
});

test('a request resumes the terminated workflow of its order immediately', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await workflow(id).terminate();
  const answer = await stack.api.progress(id, 'approved');
  expect(answer.body.data.status).toBe('APPROVED');
  expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual([
    'created',
    'signup_started',
    'recovered',
    'approved',
  ]);
});

test('a webhook that a restored backup lacks is sent again with the same id', async () => {
  receiver.answerWith(500);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(() => receiver.deliveries.length === 1, 'the first attempt has arrived');
  await restoreBackup(id);
  receiver.answerWith(200);
  await until(() => receiver.deliveries.length === 2, 'the webhook has arrived again', 20_000);
  expect(new Set(receiver.deliveries.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual(['created', 'signup_started']);
});

/** Resets Postgres to a backup that was made before the first change. */
async function restoreBackup(id: string): Promise<void> {
  await inTransaction(stack.db, async (client) => {
    await setBack(client, id, 1, 'CREATED');
    await client.query('update order_work set delivery_lease_until = null where order_id = $1', [id]);
  });
}

/**
 * The status in the first response that does not come from the row: on a busy machine, a read can exceed its time
 * limit.
 */
function liveStatus(id: string): Promise<string> {
  return until(async () => {
    const { headers, body } = await stack.api.get(id);
    return headers.get('Order-Source') === 'workflow' && body.data.status;
  }, 'a GET shows the workflow');
}

test('the next save adds the changes that the row of a restored backup lacks', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'approved']);
  await restoreBackup(id);
  // The response has the newer of the row's and the workflow's state.
  expect(await liveStatus(id)).toBe('APPROVED');
  const answer = await workflow(id).executeUpdate(reportProgressUpdate, {
    args: [{ event: 'completed', actor: 'checkout', channel: 'api', reason: null, observedVersion: 1 }],
  });
  expect(answer.version).toBe(4);
  expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual([
    'created',
    'signup_started',
    'approved',
    'completed',
  ]);
  const { rows } = await stack.db.query('select sequence from webhook_event where order_id = $1 order by sequence', [
    id,
  ]);
  expect(rows).toEqual([{ sequence: 1 }, { sequence: 2 }, { sequence: 3 }]);
});

test('a run that is behind its row stops without a save, and the sweep resumes the order from the row', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await stack.db.query("update orders set version = 3, status = 'APPROVED' where id = $1", [id]);
  await stack.db.query(
    `insert into order_timeline (order_id, version, event, from_status, to_status, actor, channel, at)
     values ($1, 3, 'approved', 'PENDING', 'APPROVED', 'checkout', 'api', now())`,
    [id],
  );
  const { runId } = await workflow(id).describe();
  await expect(
    workflow(id).executeUpdate(cancelOrderUpdate, {
      args: [{ event: 'cancel', actor: 'seller', channel: 'api', reason: null, observedVersion: 2 }],
    }),
  ).rejects.toThrow(/Update failed/);
  const stopped = stack.client.workflow.getHandle(`order-${id}`, runId);
  await until(async () => (await stopped.describe()).status.name === 'FAILED', 'the run has failed');
  await until(() => isRunning(stack.client, id), 'the sweep has resumed the workflow');
  const resumed = await until(() => queryOrder(stack.client, id), 'the workflow has read the row');
  expect(resumed.status).toBe('APPROVED');
  expect((await stack.api.progress(id, 'completed')).body.data.status).toBe('SUCCESSFUL');
});

test.each(['completed', 'cancel'])(
  'a workflow that is behind its row is replaced immediately by the request %s',
  async (event) => {
    const id = await openOrder(stack, {}, ['signup_started']);
    await approveInRow(stack.db, id, '0');
    const answer = event === 'cancel' ? await stack.api.cancel(id) : await stack.api.progress(id, event);
    expect([answer.status, answer.body.data?.status]).toEqual([
      200,
      event === 'cancel' ? 'UNSUCCESSFUL' : 'SUCCESSFUL',
    ]);
    expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual([
      'created',
      'signup_started',
      'approved',
      'recovered',
      event,
    ]);
  },
);

test('a GET shows the row if the workflow is behind it', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await postponeSweep(stack.db, id);
  await approveInRow(stack.db, id, '0');
  const { headers, body } = await stack.api.get(id);
  expect([headers.get('Order-Source'), body.data.status]).toEqual(['snapshot', 'APPROVED']);
});

test('the sweep replaces a workflow that is behind its row', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await approveInRow(stack.db, id, '2 minutes');
  const replaced = await until(
    () =>
      queryOrder(stack.client, id).then(
        (order) => (order?.version === 3 ? order : null),
        () => null,
      ),
    'the sweep has replaced the workflow',
  );
  expect(replaced.status).toBe('APPROVED');
});

test.each([
  ['a cancel signal', (id: string) => workflow(id).signal(cancelSignal, { reason: 'fraud' }), /fraud/],
  ['a cancellation request', (id: string) => workflow(id).cancel(), /cancellation requested/],
])('%s to a workflow that is behind its row is carried out by the next run', async (_, send, reason) => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await approveInRow(stack.db, id, '0');
  await send(id);
  const line = await until(
    async () => (await timelineOf(stack, id)).find(({ event }) => event === 'cancel'),
    'the order is cancelled',
  );
  expect(line).toMatchObject({
    version: 4,
    actor: 'operator',
    channel: 'temporal',
    reason: expect.stringMatching(reason),
  });
});

describe('after a restore of Postgres, a finished order', () => {
  async function finished(): Promise<string> {
    const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'approved', 'completed']);
    await workflow(id).result();
    await restoreApproved(stack, id);
    return id;
  }

  test('is not cancelled, and its webhook is sent again with the same id and content', async () => {
    const id = await finished();
    expect((await stack.api.cancel(id)).body.code).toBe('order_not_cancellable');
    expect(await versionOfRow(stack, id)).toBe(4);
    await until(() => receiver.deliveries.length === 4, 'the webhook has arrived again');
    const [third, again] = receiver.deliveries.slice(2);
    expect(again!.headers['webhook-id']).toBe(third!.headers['webhook-id']);
    expect(again!.text).toBe(third!.text);
    expect((await timelineOf(stack, id)).find(({ event }) => event === 'recovered')?.reason).toBe(
      'the row lacked 1 change of the last run',
    );
  });

  test('has its row brought forward without any request', async () => {
    const id = await finished();
    await checkTomorrow(id);
    await until(async () => (await versionOfRow(stack, id)) === 4, 'the row is at the version of the workflow', 20_000);
  });

  test('is shown as its closed run has it by a GET, which also brings the row forward', async () => {
    const id = await finished();
    expect(await liveStatus(id)).toBe('SUCCESSFUL');
    await until(async () => (await versionOfRow(stack, id)) === 4, 'the row is at the version of the workflow');
  });
});

test('a GET that meets an open workflow ahead of its row has the row brought forward', async () => {
  const id = await openOrder(stack, {}, ['signup_started', 'approved']);
  await postponeSweep(stack.db, id);
  await restoreBackup(id);
  // A GET to which Temporal does not respond in time shows the row.
  await until(async () => (await stack.api.get(id)).body.data.status === 'APPROVED', 'a GET shows the workflow');
  await until(async () => (await versionOfRow(stack, id)) === 3, 'the row is at the version of the workflow');
});

test('an open workflow ahead of its row is found, and the row brought forward, without any request', async () => {
  const id = await openOrder(stack, {}, ['signup_started', 'approved']);
  await restoreBackup(id);
  await checkTomorrow(id);
  await until(async () => (await versionOfRow(stack, id)) === 3, 'the row is at the version of the workflow', 20_000);
});

/** Leaves an order to the scans, like one of a restored backup whose last save and next check are far from now. */
async function checkTomorrow(id: string): Promise<void> {
  await stack.db.query(
    `update order_work set sweep_at = now() + interval '1 day', saved_at = now() - interval '1 hour'
     where order_id = $1`,
    [id],
  );
}

describe('a terminated run', () => {
  async function terminated(): Promise<string> {
    const id = await openOrder(stack, {}, ['signup_started']);
    await postponeSweep(stack.db, id);
    await workflow(id).terminate('an operator pressed the button');
    return id;
  }

  test('is replaced after a GET, and the timeline shows why', async () => {
    const id = await terminated();
    expect((await stack.api.get(id)).body.data.status).toBe('PENDING');
    const line = await until(
      async () => (await timelineOf(stack, id)).find(({ event }) => event === 'recovered'),
      'the timeline shows the replacement',
    );
    expect(line).toMatchObject({
      actor: 'system',
      channel: 'sweep',
      reason: 'it was terminated: an operator pressed the button',
    });
    const { body } = await stack.api.call('GET', `${BASE}/order/${id}/timeline/`);
    expect(body.data.at(-1)).toMatchObject({
      type: 'recovery',
      order_status: 'PENDING',
      reason: expect.stringContaining('terminated'),
    });
    expect(await isRunning(stack.client, id)).toBe(true);
  });

  test('is found and replaced without any request', async () => {
    const id = await terminated();
    await until(() => isRunning(stack.client, id), 'the workflow runs again', 20_000);
  });
});

describe('a run that a person has started under a workflow id that is no order', () => {
  beforeAll(async () => {
    await stack.client.workflow.start('orderWorkflow', {
      workflowId: 'order-test',
      taskQueue: 'orders',
      startDelay: '1 hour',
      args: [{ orderId: 'test' }],
    });
    await workflow('test').terminate();
    await until(async () => (await runsOf(stack, 'test')).length, 'Temporal lists the run');
  });

  test('does not keep the sweep from finding a terminated run', async () => {
    const id = await openOrder(stack, {}, ['signup_started']);
    await postponeSweep(stack.db, id);
    await workflow(id).terminate();
    await until(() => isRunning(stack.client, id), 'the workflow runs again', 20_000);
  });

  test('is left out by reconcile', async () => {
    const id = await openOrder(stack);
    await until(async () => (await runsOf(stack, id)).length, 'Temporal lists the run');
    const lists = createRunLists(stack.client, (_, call) => call());
    const listed: string[] = [];
    async function* listWorkflows() {
      for await (const orderId of lists.list({})) {
        listed.push(orderId);
        yield orderId;
      }
    }
    const inspect = (orderId: string) => inspectWorkflow(stack.client, orderId);
    const missing: string[] = [];
    for await (const { differences } of reconcile({ db: stack.db, inspect, listWorkflows }, {})) {
      missing.push(...differences.filter(({ kind }) => kind === 'row_missing').map(({ orderId }) => orderId));
    }
    expect(listed).toContain(id);
    expect(listed).not.toContain('test');
    expect(missing).toEqual([]);
  });
});

describe('a run that does not send its overdue webhook, as after a restore of Temporal,', () => {
  async function expectReplaced(id: string): Promise<void> {
    const delivered = async () =>
      (await stack.db.query(`select from webhook_event where order_id = $1 and state = 'delivered'`, [id])).rowCount;
    await until(delivered, 'the webhook is delivered');
    await stack.db.query(
      'delete from webhook_attempt where event_id in (select id from webhook_event where order_id = $1)',
      [id],
    );
    await stack.db.query(
      `update webhook_event set state = 'pending', attempts = 0, created_at = now() - interval '11 minutes'
       where order_id = $1`,
      [id],
    );
    await until(delivered, 'the webhook is delivered again', 20_000);
    expect((await timelineOf(stack, id)).at(-1)).toMatchObject({
      event: 'recovered',
      reason: expect.stringContaining('webhook was overdue'),
    });
  }

  test('is replaced, and the webhook arrives', async () => {
    await expectReplaced(await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']));
  });

  test('is replaced although it waits for a lender that is unavailable', async () => {
    const id = await applied(stack, 'jo@bloggs.example', { data: { webhook_url: receiver.url } });
    const asksLender = async () => {
      const { raw } = await workflow(id).describe();
      return raw.pendingActivities?.some(({ activityType }) => activityType?.name === 'askForDecision');
    };
    await until(asksLender, 'the workflow asks the lender');
    await expectReplaced(id);
  });
});

describe('the run of a settled order ends', () => {
  const hasEnded = (id: string) =>
    until(async () => (await statusOf(stack.client, id)) === 'COMPLETED', 'the run has ended', 20_000);

  /** Worker and server died after the commit of this save, a while ago. */
  async function saveInRowOnly(id: string, event: 'completed' | 'failed'): Promise<PendingWebhook[]> {
    const history = applyEvents((await findOrder(stack.db, id))!, event);
    const pending = await saveHistory(stack.db, history);
    await stack.db.query(`update order_work set saved_at = saved_at - interval '2 minutes' where order_id = $1`, [id]);
    return pending;
  }

  test('although it has resent the webhook of a change that only the row has', async () => {
    const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'approved']);
    await until(() => receiver.deliveries.length === 2, 'both webhooks have arrived');
    const [webhook] = await saveInRowOnly(id, 'completed');
    expect((await stack.api.call('POST', `${BASE}/webhook_event/${webhook!.id}/resend/`)).status).toBe(202);
    const attempts = 'select from webhook_attempt where event_id = $1';
    await until(async () => (await stack.db.query(attempts, [webhook!.id])).rowCount, 'the resend is recorded');
    expect(await msUntilSweep(stack.db, id)).not.toBeNull();
    await stack.db.query('update order_work set sweep_at = now() where order_id = $1', [id]);
    await hasEnded(id);
    expect(receiver.deliveries).toHaveLength(3);
  });

  test('before the sweep leaves the order alone', async () => {
    // Its second attempt, which ends the run, comes long after the sweep.
    receiver.answerWith(503, { 'Retry-After': '10' });
    const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
    const settle = `update webhook_event set state = 'delivered', next_attempt_at = null where order_id = $1 and attempts = 1`;
    await until(async () => (await stack.db.query(settle, [id])).rowCount, 'the first attempt is recorded');
    await stack.db.query('update order_work set sweep_at = now() where order_id = $1', [id]);
    const isVisited = (ms: number | null) => ms === null || ms > 20_000;
    await until(async () => isVisited(await msUntilSweep(stack.db, id)), 'the sweep has checked the order');
    expect([await isRunning(stack.client, id), await msUntilSweep(stack.db, id)]).toEqual([true, expect.any(Number)]);
    await hasEnded(id);
  });

  test('although the sweep has no more work for the order', async () => {
    const id = await openOrder(stack, {}, ['signup_started']);
    await saveInRowOnly(id, 'failed');
    await stack.db.query('delete from order_work where order_id = $1', [id]);
    await hasEnded(id);
  });
});

test('a request whose save Postgres refuses is handed over when the run is replaced', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await refuseVersion(stack.db, id, 3);
  await workflow(id).signal(customerProgressSignal, { event: 'approved' });
  await until(() => waitsOnTimer(stack.client, id), 'the save waits to be repeated');
  expect(await inspectWorkflow(stack.client, id)).toMatchObject({
    running: true,
    isBusy: true,
    unprocessed: [{ event: 'approved' }],
  });
  await workflow(id).terminate('an operator replaces the run');
  await acceptVersions(stack.db);
  await until(async () => (await stack.api.get(id)).body.data.status === 'APPROVED', 'the request is carried out');
});

describe('a run whose workflow tasks keep failing', () => {
  /** Breaks the run: its history has a timer that the workflow code does not start. */
  async function breakRun(id: string): Promise<string> {
    await postponeSweep(stack.db, id);
    await stack.stopWorker();
    const { runId } = await workflow(id).describe();
    await completeTaskWithUnknownCommand(id);
    await stack.startWorker();
    return runId;
  }

  test('passes its requests on to the run that a call starts', async () => {
    const id = await openOrder(stack, {}, ['signup_started']);
    await breakRun(id);
    await workflow(id).signal(customerProgressSignal, { event: 'approved' });
    await workflow(id).terminate('an operator replaces a stuck run');
    expect((await stack.api.progress(id, 'completed')).body.data.status).toBe('SUCCESSFUL');
  }, 60_000);

  /** Plays a worker of another release: it schedules a timer that the workflow code does not know. */
  async function completeTaskWithUnknownCommand(id: string): Promise<void> {
    await workflow(id).signal('unknown');
    const { workflowService } = stack.client;
    const poll = () =>
      workflowService.pollWorkflowTaskQueue({
        namespace: stack.temporal.namespace!,
        taskQueue: { name: 'orders' },
        identity: 'another release',
      });
    const task = await stack.client.withDeadline(Date.now() + 30_000, async () => {
      for (;;) {
        const polled = await poll();
        if (polled.workflowExecution?.workflowId === `order-${id}`) return polled;
        // An order of an earlier test: its task is repeated.
        const { taskToken } = polled;
        await workflowService.respondWorkflowTaskFailed({ namespace: stack.temporal.namespace!, taskToken });
      }
    });
    await workflowService.respondWorkflowTaskCompleted({
      namespace: stack.temporal.namespace!,
      taskToken: task.taskToken,
      identity: 'another release',
      commands: [
        {
          commandType: temporal.api.enums.v1.CommandType.COMMAND_TYPE_START_TIMER,
          startTimerCommandAttributes: { timerId: 'unknown', startToFireTimeout: { nanos: 1_000_000 } },
        },
      ],
    });
  }

  const stuckRuns = async (): Promise<number> =>
    parseMetrics(await registry.getSingleMetricAsString('order_service_stuck_runs')).value('order_service_stuck_runs');

  test.each([
    ['a cancel signal', (id: string) => workflow(id).signal(cancelSignal, { reason: 'fraud' }), 'UNSUCCESSFUL'],
    ['a cancellation request', (id: string) => workflow(id).cancel(), 'UNSUCCESSFUL'],
    ['progress', (id: string) => workflow(id).signal(customerProgressSignal, { event: 'approved' }), 'APPROVED'],
  ])(
    'gets %s, which the run that replaces it carries out',
    async (_, send, status) => {
      const id = await openOrder(stack, {}, ['signup_started']);
      await breakRun(id);
      await send(id);
      await workflow(id).terminate('an operator replaces a stuck run');
      await stack.db.query('update order_work set sweep_at = now() where order_id = $1', [id]);
      await until(async () => (await stack.api.get(id)).body.data.status === status, 'the request is carried out');
    },
    60_000,
  );

  test('is counted and replaced visibly, and its order continues', async () => {
    const id = await openOrder(stack, {}, ['signup_started']);
    // As if the sweep had just replaced another run of the order: then it waits.
    await stack.db.query('update order_work set stuck_at = now() where order_id = $1', [id]);
    const broken = await breakRun(id);
    await until(async () => (await stuckRuns()) === 1, 'the metric counts the run', 130_000);
    expect(await checkTemporal(() => Promise.resolve(stack.client))).toContainEqual({
      part: 'stuck runs',
      state: 'attention',
      detail: '1: their workflow tasks fail',
    });
    await stack.db.query('update order_work set stuck_at = null where order_id = $1', [id]);
    const line = await until(
      async () => (await timelineOf(stack, id)).find(({ event }) => event === 'recovered'),
      'the timeline shows the replacement',
      130_000,
    );
    expect(line.reason).toMatch(/^its workflow tasks keep failing: .*Nondeterminism/);
    expect((await workflow(id).describe()).runId).not.toBe(broken);
    expect((await stack.api.progress(id, 'approved')).status).toBe(200);
    await until(async () => (await stuckRuns()) === 0, 'the metric no longer counts the run');
  }, 290_000);
});

test('a run that a worker has yet to act on after an outage is not replaced, however overdue its webhook is', async () => {
  receiver.answerWith(500);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(() => receiver.deliveries.length === 1, 'the first attempt has failed');
  await stack.stopWorker();
  await workflow(id).signal(resendWebhooksSignal);
  const { raw } = await workflow(id).describe();
  expect(raw.pendingWorkflowTask).not.toBeNull();
  const run = await inspectWorkflow(stack.client, id);
  expect(run).toMatchObject({ running: true, isBusy: true, failureReason: null });
  await stack.startWorker();
});
