import { setTimeout as delay } from 'node:timers/promises';
import { temporal } from '@temporalio/proto';
import { findOrder } from '../../../src/db/find-orders';
import { inTransaction } from '../../../src/db/pool';
import { createOrderWorkflows } from '../../../src/temporal/order-workflows';
import {
  cancelOrderUpdate,
  cancelSignal,
  customerProgressSignal,
  reportProgressUpdate,
} from '../../../workflows/messages';
import { isRunning, noWebhookPending, openOrder, queryOrder, runsOf, statusOf, timelineOf } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';

const { EventType } = temporal.api.enums.v1;

const stack = useStack();
const receiver = useReceiver('test');

const workflow = (id: string) => stack.client.workflow.getHandle(`order-${id}`);
const statusOfRow = async (id: string) => (await findOrder(stack.db, id))?.order.status;

test('a SUCCESSFUL order with three webhooks needs at most 59 history events and 13 Temporal actions', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url });
  for (const [index, event] of ['signup_started', 'approved', 'completed'].entries()) {
    await stack.api.progress(id, event);
    await until(() => receiver.deliveries.length === index + 1, 'the webhook has arrived');
    // The worst case: each webhook is settled before the next change, so that no two steps share a workflow task.
    await until(() => noWebhookPending(stack, [id]), 'the delivery is recorded');
    if (event !== 'completed') await until(() => isIdle(id), 'the workflow is idle');
  }
  await workflow(id).result();
  const events = (await workflow(id).fetchHistory()).events ?? [];
  const count = (...types: number[]) => events.filter(({ eventType }) => types.includes(eventType ?? -1)).length;
  const actions =
    count(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED) +
    count(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED) +
    count(EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED) +
    count(EventType.EVENT_TYPE_TIMER_STARTED) +
    count(EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES);
  process.stdout.write(`one order, three webhooks: ${events.length} history events, ${actions} Temporal actions\n`);
  expect(events.length).toBeLessThanOrEqual(59);
  expect(actions).toBeLessThanOrEqual(13);
  // History does not show the actions of retries.
  expect(events.every((event) => (event.activityTaskStartedEventAttributes?.attempt ?? 1) === 1)).toBe(true);
});

async function isIdle(id: string): Promise<boolean> {
  const { raw } = await workflow(id).describe();
  return !raw.pendingWorkflowTask && (raw.pendingActivities ?? []).length === 0;
}

test('one of a concurrent cancel and completion wins in each of 200 orders, and row, timeline and responses agree', async () => {
  const ids: string[] = [];
  for (let batch = 0; batch < 10; batch++) {
    const events = ['signup_started', 'approved'];
    ids.push(...(await Promise.all(Array.from({ length: 20 }, () => openOrder(stack, {}, events)))));
  }
  let cancelled = 0;
  for (let batch = 0; batch < 10; batch++) {
    const race = async (id: string, index: number) => {
      // Every other cancel is sent a moment later, so that both kinds of request win.
      const [cancel, complete] = await Promise.all([
        delay(index % 2 ? 4 : 0).then(() => stack.api.cancel(id)),
        stack.api.progress(id, 'completed'),
      ]);
      const winner = cancel.status === 200 ? 'UNSUCCESSFUL' : 'SUCCESSFUL';
      expect([cancel.status, complete.status].sort()).toEqual([200, 409]);
      if (winner === 'UNSUCCESSFUL') cancelled++;
      expect(await statusOfRow(id)).toBe(winner);
      expect((await stack.api.get(id)).body.data.status).toBe(winner);
      expect(await timelineOf(stack, id)).toHaveLength(4);
      expect(((await workflow(id).result()) as { status: string }).status).toBe(winner);
    };
    await Promise.all(ids.slice(batch * 20, batch * 20 + 20).map(race));
  }
  process.stdout.write(`cancel won ${cancelled} of 200\n`);
}, 120_000);

test('a start that arrives after the end of the workflow starts no second run', async () => {
  const id = await openOrder(stack);
  const createdOrder = (await findOrder(stack.db, id))!;
  expect((await stack.api.cancel(id)).status).toBe(200);
  await workflow(id).result();
  const workflows = createOrderWorkflows(stack.client, { startTimeoutMs: 5000, updateTimeoutMs: 5000 });
  await workflows.start(createdOrder);
  await until(async () => (await runsOf(stack, id)).length > 0, 'visibility shows the run');
  expect(await runsOf(stack, id)).toHaveLength(1);
  expect(await statusOf(stack.client, id)).toBe('COMPLETED');
  expect(await statusOfRow(id)).toBe('UNSUCCESSFUL');
});

test('a resumed run that reads a closed order from the row ends without a change', async () => {
  const id = await openOrder(stack, {}, ['failed']);
  await workflow(id).result();
  const { order } = (await findOrder(stack.db, id))!;
  await createOrderWorkflows(stack.client, { startTimeoutMs: 5000, updateTimeoutMs: 5000 }).resume({
    ...order,
    status: 'CREATED',
    version: 1,
  });
  expect(await workflow(id).result()).toMatchObject({ status: 'UNSUCCESSFUL', version: 2 });
  expect(await timelineOf(stack, id)).toHaveLength(2);
});

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
  expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual(['created', 'signup_started', 'approved']);
});

test("an operator's request to cancel the workflow cancels the order", async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await workflow(id).cancel();
  expect(await workflow(id).result()).toMatchObject({ status: 'UNSUCCESSFUL' });
  expect((await timelineOf(stack, id)).at(-1)).toMatchObject({
    event: 'cancel',
    actor: 'operator',
    to_status: 'UNSUCCESSFUL',
  });
  expect((await stack.api.get(id)).body.data.cancelled_at).toEqual(expect.any(String));
});

test('a signal changes the order like a request, and a refused signal is recorded in the timeline', async () => {
  const id = await openOrder(stack);
  await workflow(id).signal(customerProgressSignal, { event: 'signup_started' });
  await workflow(id).signal(customerProgressSignal, { event: 'completed', reason: 'too early' });
  await until(async () => (await timelineOf(stack, id)).length === 3, 'both signals are in the timeline');
  expect((await timelineOf(stack, id)).slice(1)).toEqual([
    {
      version: 2,
      event: 'signup_started',
      from_status: 'CREATED',
      to_status: 'PENDING',
      actor: 'checkout',
      reason: null,
    },
    {
      version: null,
      event: 'completed',
      from_status: 'PENDING',
      to_status: 'PENDING',
      actor: 'checkout',
      reason: 'too early',
    },
  ]);
  await workflow(id).signal(cancelSignal, { reason: 'fraud' });
  await workflow(id).result();
  expect((await timelineOf(stack, id)).at(-1)).toMatchObject({ event: 'cancel', actor: 'operator', reason: 'fraud' });
});

test.each([
  ['nothing', []],
  ['null', [null]],
  ['a number', [42]],
  ['a list', [['approved']]],
  ['an unknown event', [{ event: 'refund' }]],
  ['an event that is not a string', [{ event: { nested: true } }]],
  ['a reason that is not a string', [{ event: 'completed', reason: 7, actor: 'nobody' }]],
])('a signal with %s is refused and does not block the workflow', async (_payload, args) => {
  const id = await openOrder(stack);
  await workflow(id).signal('customerProgress', ...args);
  await until(async () => (await timelineOf(stack, id)).length === 2, 'the refusal is in the timeline');
  expect((await timelineOf(stack, id))[1]).toMatchObject({ version: null, to_status: 'CREATED', actor: 'checkout' });
  expect((await stack.api.cancel(id)).status).toBe(200);
});

test.each([
  ['reportProgress', []],
  ['reportProgress', [{ event: 'expired ' }]],
  ['reportProgress', [{ event: 'approved' }]],
])('an update %s(%j) from the Temporal UI is refused and does not block the workflow', async (name, args) => {
  const id = await openOrder(stack);
  await expect(workflow(id).executeUpdate(name, { args: args as [] })).rejects.toThrow(/Update failed/);
  expect((await stack.api.cancel(id)).status).toBe(200);
});

test('an update cancelOrder without arguments is a cancel by an operator', async () => {
  const id = await openOrder(stack);
  await workflow(id).executeUpdate('cancelOrder');
  expect((await timelineOf(stack, id)).at(-1)).toMatchObject({ event: 'cancel', actor: 'operator' });
});

test('concurrent updates with the same id make one change', async () => {
  const id = await openOrder(stack);
  const update = () =>
    workflow(id).executeUpdate(reportProgressUpdate, {
      updateId: 'signup_started:1',
      args: [{ event: 'signup_started', actor: 'checkout', reason: null, observedVersion: 1 }],
    });
  const answers = await Promise.all([update(), update(), update()]);
  expect(answers.map(({ version }) => version)).toEqual([2, 2, 2]);
  expect(await timelineOf(stack, id)).toHaveLength(2);
});

test('an UNSUCCESSFUL order whose workflow has ended can be cancelled once', async () => {
  const id = await openOrder(stack, {}, ['failed']);
  await workflow(id).result();
  const first = await stack.api.cancel(id);
  const second = await stack.api.cancel(id);
  expect(first.body.data.cancelled_at).toEqual(expect.any(String));
  expect(second.body).toEqual(first.body);
  expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual(['created', 'failed', 'cancel']);
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
    // The product locks the order's row first too. Any other order could cause a deadlock.
    await client.query('select from orders where id = $1 for update', [id]);
    const events = 'select id from webhook_event where order_id = $1';
    await client.query(`delete from webhook_attempt where event_id in (${events})`, [id]);
    await client.query('delete from webhook_event where order_id = $1', [id]);
    await client.query('delete from order_timeline where order_id = $1 and version > 1', [id]);
    await client.query("update orders set version = 1, status = 'CREATED' where id = $1", [id]);
    await client.query('update order_work set delivery_lease_until = null where order_id = $1', [id]);
  });
}

test('the next save adds the changes that the row of a restored backup lacks', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'approved']);
  await restoreBackup(id);
  // The response has the newer of the row's and the workflow's state.
  expect((await stack.api.get(id)).body.data.status).toBe('APPROVED');
  const answer = await stack.client.workflow.getHandle(`order-${id}`).executeUpdate(reportProgressUpdate, {
    args: [{ event: 'completed', actor: 'checkout', reason: null, observedVersion: 1 }],
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
    `insert into order_timeline (order_id, version, event, from_status, to_status, actor, at)
     values ($1, 3, 'approved', 'PENDING', 'APPROVED', 'checkout', now())`,
    [id],
  );
  const { runId } = await workflow(id).describe();
  await expect(
    workflow(id).executeUpdate(cancelOrderUpdate, {
      args: [{ event: 'cancel', actor: 'seller', reason: null, observedVersion: 2 }],
    }),
  ).rejects.toThrow(/Update failed/);
  const stopped = stack.client.workflow.getHandle(`order-${id}`, runId);
  await until(async () => (await stopped.describe()).status.name === 'FAILED', 'the run has failed');
  await until(() => isRunning(stack.client, id), 'the sweep has resumed the workflow');
  const resumed = await until(() => queryOrder(stack.client, id), 'the workflow has read the row');
  expect(resumed.status).toBe('APPROVED');
  expect((await stack.api.progress(id, 'completed')).body.data.status).toBe('SUCCESSFUL');
});

/** Approves an order in Postgres only, as if Temporal had been restored from a backup. */
async function approveInRow(id: string, age: string): Promise<void> {
  await stack.db.query("update orders set version = 3, status = 'APPROVED' where id = $1", [id]);
  await stack.db.query(
    `insert into order_timeline (order_id, version, event, from_status, to_status, actor, at)
     values ($1, 3, 'approved', 'PENDING', 'APPROVED', 'checkout', now() - $2::interval)`,
    [id, age],
  );
}

test.each(['completed', 'cancel'])(
  'a workflow that is behind its row is replaced immediately by the request %s',
  async (event) => {
    const id = await openOrder(stack, {}, ['signup_started']);
    await approveInRow(id, '0');
    const answer = event === 'cancel' ? await stack.api.cancel(id) : await stack.api.progress(id, event);
    expect([answer.status, answer.body.data?.status]).toEqual([
      200,
      event === 'cancel' ? 'UNSUCCESSFUL' : 'SUCCESSFUL',
    ]);
    expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual([
      'created',
      'signup_started',
      'approved',
      event,
    ]);
  },
);

test('the sweep replaces a workflow that is behind its row', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await approveInRow(id, '2 minutes');
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

test('a cancel signal to a workflow that is behind its row is recorded as not carried out', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await approveInRow(id, '0');
  await workflow(id).signal(cancelSignal, { reason: 'fraud' });
  const line = await until(
    async () => (await timelineOf(stack, id)).find(({ version }) => version === null),
    'the refusal is in the timeline',
  );
  expect(line).toMatchObject({
    event: 'cancel',
    actor: 'operator',
    reason: expect.stringMatching(/send it again.*fraud/),
  });
  expect((await stack.api.cancel(id)).status).toBe(200);
});

test('a signal with NUL or lone surrogates does not block the workflow', async () => {
  const id = await openOrder(stack);
  await workflow(id).signal(customerProgressSignal, { event: 'comp\u0000leted', reason: 'a\u0000b\ud800' });
  await workflow(id).signal(cancelSignal, { reason: `\u0000${'😀'.repeat(300)}` });
  await workflow(id).result();
  // Changes do not wait for a refusal, so its entry may follow that of a later change.
  const versions = (await timelineOf(stack, id)).map(({ version }) => version);
  expect([versions.length, ...versions.filter((version) => version !== null)]).toEqual([3, 1, 2]);
});

test('a signal in an unknown encoding is refused and does not block the workflow', async () => {
  const id = await openOrder(stack);
  await stack.client.workflowService.signalWorkflowExecution({
    namespace: stack.temporal.namespace!,
    workflowExecution: { workflowId: `order-${id}` },
    signalName: 'customerProgress',
    input: { payloads: [{ metadata: { encoding: Buffer.from('json/protobuf') }, data: Buffer.from('{}') }] },
  });
  await until(async () => (await timelineOf(stack, id)).length === 2, 'the refusal is in the timeline');
  expect((await stack.api.cancel(id)).status).toBe(200);
});

test('a flood of signals makes the workflow continue as new, and the order stays open', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  const { runId } = await workflow(id).describe();
  for (let batch = 0; (await workflow(id).describe()).runId === runId; batch++) {
    if (batch > 40) throw new Error('the workflow has not continued as new');
    const signals = Array.from({ length: 100 }, () =>
      workflow(id).signal(customerProgressSignal, { event: 'completed' }),
    );
    await Promise.all(signals);
    await until(
      async () => (await timelineOf(stack, id)).length === 2 + (batch + 1) * 100,
      'all signals are refused',
      90_000,
    );
  }
  expect((await stack.api.progress(id, 'approved')).body.data.status).toBe('APPROVED');
  expect(await isRunning(stack.client, id)).toBe(true);
}, 300_000);
