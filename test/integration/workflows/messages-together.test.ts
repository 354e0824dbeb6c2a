import { setTimeout as delay } from 'node:timers/promises';
import { requestResends } from '../../../src/db/webhook-events';
import { cancelSignal, customerProgressSignal, resendWebhooksSignal } from '../../../workflows/messages';
import { holdTransaction, statementsWaiting } from '../../support/database';
import { openOrder, timelineOf } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { replay } from '../../support/replay';
import { type Stack, useStack } from '../../support/stack';
import { until } from '../../support/until';

// Calls wait for held saves, also on a machine that stalls.
const PATIENT = { UPDATE_TIMEOUT_MS: '60000' };
const stack = useStack({ env: { ...PATIENT, WEBHOOK_RETRY_DELAYS: '0,2,60' } });
const receiver = useReceiver('test');

test('a run that got several messages in one workflow task can be replayed', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  const delivered = `select id from webhook_event where order_id = $1 and state = 'delivered'`;
  const event = await until(
    async () => (await stack.db.query<{ id: string }>(delivered, [id])).rows[0],
    'the webhook is delivered',
  );
  const handle = stack.client.workflow.getHandle(`order-${id}`);
  await stack.stopWorker();
  await requestResends(stack.db, [event.id], 60_000);
  await handle.signal(resendWebhooksSignal);
  await handle.signal(customerProgressSignal, { event: 'completed' });
  await handle.signal(resendWebhooksSignal);
  await handle.signal(customerProgressSignal, { event: 'approved' });
  await handle.signal(cancelSignal, { reason: 'fraud' });
  await stack.startWorker();
  await handle.result();
  const events = (await timelineOf(stack, id)).map(({ event: name }) => name);
  expect(events).toEqual(['created', 'signup_started', 'completed', 'approved', 'cancel']);
  await replay(await handle.fetchHistory());
});

test('messages that come before a run has begun are handled in their order, signals before updates', async () => {
  await stack.stopWorker();
  const id = (await stack.api.create({ webhook_url: receiver.url })).body.data.id;
  const handle = stack.client.workflow.getHandle(`order-${id}`);
  await until(() => handle.describe().then(Boolean, () => false), 'the workflow is started');
  for (const event of ['signup_started', 'approved']) await handle.signal(customerProgressSignal, { event });
  await handle.signal(cancelSignal, { reason: 'fraud' });
  await handle.signal(customerProgressSignal, { event: 'failed' });
  const completed = stack.api.progress(id, 'completed');
  await delay(500);
  await stack.startWorker();
  expect((await completed).status).toBe(409);
  await handle.result();
  const events = (await timelineOf(stack, id)).map(({ event, reason }) => [event, reason]);
  expect(events).toEqual([
    ['created', null],
    ['signup_started', null],
    ['approved', null],
    ['cancel', 'fraud'],
    ['failed', null],
  ]);
  await replay(await handle.fetchHistory());
});

test('a cancel succeeds although a signal comes while the task that carries it out closes the run', async () => {
  const isTaskRefused = async () => {
    const id = await openOrder(stack, {}, ['signup_started']);
    const handle = stack.client.workflow.getHandle(`order-${id}`);
    const held = await holdTransaction(stack.db, 'select from orders where id = $1 for update', [id]);
    const cancelled = stack.api.cancel(id);
    await until(async () => (await statementsWaiting(stack.db, 'save_change')) === 1, 'the cancel is being saved');
    await handle.signal(resendWebhooksSignal);
    await held.rollback();
    expect((await cancelled).status).toBe(200);
    await handle.result();
    const history = await handle.fetchHistory();
    expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual(['created', 'signup_started', 'cancel']);
    await replay(history);
    return history.events!.some(
      ({ workflowTaskFailedEventAttributes: failed }) => failed?.failure?.message === 'UnhandledCommand',
    );
  };
  // On a machine that stalls, the task may end before the signal comes.
  await until(isTaskRefused, 'the server refuses the task that closes the run');
});

/** The SDK ends a task after 4 s of a local activity, and continues the activity in the next one. */
const LONGER_THAN_A_TASK_MS = 5500;

/**
 * Waits until an order's first `count` attempts have failed. A lock that is taken earlier would hold up their records.
 */
async function untilFailed({ db }: Stack, id: string, count: number): Promise<void> {
  const query = 'select from webhook_attempt a join webhook_event e on e.id = a.event_id where e.order_id = $1';
  await until(async () => (await db.query(query, [id])).rowCount! >= count, `${count} attempts have failed`);
}

/** Reports `approved`, and holds up its save. */
async function approveSlowly({ db, api }: Stack, id: string): Promise<void> {
  const held = await holdTransaction(db, 'select from orders where id = $1 for update', [id]);
  const approved = api.progress(id, 'approved');
  await delay(LONGER_THAN_A_TASK_MS);
  await held.rollback();
  expect((await approved).status).toBe(200);
}

test('a run whose timer fired during a save that took longer than a workflow task can be replayed', async () => {
  receiver.answerWith(500);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await untilFailed(stack, id, 1);
  await approveSlowly(stack, id);
  await until(() => receiver.deliveries.length >= 2, 'the second attempt has failed');
  await stack.api.cancel(id);
  await replay(await stack.client.workflow.getHandle(`order-${id}`).fetchHistory());
});

test('a run whose retry was due while it read which webhook to resend can be replayed', async () => {
  receiver.answerWith(500);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await untilFailed(stack, id, 1);
  const { rows } = await stack.db.query<{ id: string }>('select id from webhook_event where order_id = $1', [id]);
  await requestResends(stack.db, [rows[0]!.id], 60_000);
  const held = await holdTransaction(stack.db, 'lock table webhook_event in access exclusive mode');
  const handle = stack.client.workflow.getHandle(`order-${id}`);
  await handle.signal(resendWebhooksSignal);
  await delay(LONGER_THAN_A_TASK_MS);
  await held.rollback();
  await until(() => receiver.deliveries.length >= 3, 'the resend and the second attempt have failed');
  await stack.api.cancel(id);
  await replay(await handle.fetchHistory());
});

const impatient = useStack({ env: { ...PATIENT, WEBHOOK_RETRY_DELAYS: '0,0.1,0.1,0.1,0.1,3,60' } });

test('a run whose sixth attempt was due while a save added the next webhook can be replayed', async () => {
  receiver.answerWith(500);
  const id = await openOrder(impatient, { webhook_url: receiver.url }, ['signup_started']);
  await untilFailed(impatient, id, 5);
  await approveSlowly(impatient, id);
  await until(() => receiver.deliveries.length >= 6, 'the next webhook is attempted');
  await impatient.api.cancel(id);
  await replay(await impatient.client.workflow.getHandle(`order-${id}`).fetchHistory());
});
