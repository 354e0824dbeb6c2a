import { findOrder } from '../../../src/db/orders';
import { createOrderWorkflows } from '../../../src/temporal/order-workflow-client';
import { cancelSignal, customerProgressSignal, resendWebhookSignal } from '../../../workflows/messages';
import { holdTransaction, statementsWaiting } from '../../support/database';
import { openOrder, timelineOf } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { replay } from '../../support/replay';
import { useStack, withNewSeller } from '../../support/stack';
import { until } from '../../support/until';

// Calls wait for held saves, also on a machine that stalls.
const stack = useStack({ env: { DATABASE_POOL_SIZE: '30', UPDATE_TIMEOUT_MS: '60000' } });
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
  await handle.signal(resendWebhookSignal, event.id);
  await handle.signal(customerProgressSignal, { event: 'completed' });
  await handle.signal(resendWebhookSignal, event.id);
  await handle.signal(customerProgressSignal, { event: 'approved' });
  await handle.signal(cancelSignal, { reason: 'fraud' });
  await stack.startWorker();
  await handle.result();
  const events = (await timelineOf(stack, id)).map(({ event: name }) => name);
  expect(events).toEqual(['created', 'signup_started', 'completed', 'approved', 'cancel']);
  await replay(await handle.fetchHistory());
});

test('signals that come before a run has begun are all handled, progress first', async () => {
  await stack.stopWorker();
  const id = (await stack.api.create({ webhook_url: receiver.url })).body.data.id;
  const handle = stack.client.workflow.getHandle(`order-${id}`);
  await until(() => handle.describe().then(Boolean, () => false), 'the workflow is started');
  for (const event of ['signup_started', 'approved']) await handle.signal(customerProgressSignal, { event });
  await handle.signal(cancelSignal, { reason: 'fraud' });
  await handle.signal(customerProgressSignal, { event: 'failed' });
  await stack.startWorker();
  await handle.result();
  const events = (await timelineOf(stack, id)).map(({ event, reason }) => [event, reason]);
  expect(events).toEqual([
    ['created', null],
    ['signup_started', null],
    ['approved', null],
    ['failed', null],
    ['cancel', 'fraud'],
  ]);
  await replay(await handle.fetchHistory());
});

test('a cancel succeeds although a signal comes while it is being saved', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  const handle = stack.client.workflow.getHandle(`order-${id}`);
  const held = await holdTransaction(stack.db, 'select from orders where id = $1 for update', [id]);
  const cancelled = stack.api.cancel(id);
  await until(
    async () => (await statementsWaiting(stack.db, 'update orders set version')) === 1,
    'the cancel is being saved',
  );
  await handle.signal(customerProgressSignal, { event: 'completed' });
  await held.rollback();
  expect((await cancelled).status).toBe(200);
  await handle.result();
  const history = await handle.fetchHistory();
  const changes = (await timelineOf(stack, id)).filter(({ version }) => version !== null);
  expect(changes.map(({ event }) => event)).toEqual(['created', 'signup_started', 'cancel']);
  await replay(history);
});

/** Makes the saves of these orders wait. */
const holdSaves = (ids: readonly string[]) =>
  holdTransaction(stack.db, 'select from orders where id = any($1) for update', [ids]);

test("ten changes of a seller's orders run at once: further ones wait, and another seller's do not", async () => {
  const { api: other } = await withNewSeller(stack);
  const ids = await Promise.all(Array.from({ length: 11 }, () => openOrder(stack)));
  const last = ids.at(-1)!;
  const others = (await other.create()).body.data.id;
  const held = await holdSaves(ids);
  const slow = ids.slice(0, 10).map((id) => stack.api.cancel(id));
  const waitingSaves = () => statementsWaiting(stack.db, 'update orders set version');
  await until(async () => (await waitingSaves()) === 10, 'ten changes wait for their rows');
  const waiting = stack.api.cancel(last);
  expect((await other.cancel(others)).status).toBe(200);
  // A save that waits too long for its row is made again.
  expect(await waitingSaves()).toBeLessThanOrEqual(10);
  await held.rollback();
  expect((await Promise.all([...slow, waiting])).map(({ status }) => status)).toEqual(Array(11).fill(200));
});

test('a process that shuts down waits for changes that wait for their turn', async () => {
  const timeouts = { startTimeoutMs: 60_000, updateTimeoutMs: 60_000 };
  const workflows = createOrderWorkflows(stack.client, { ...timeouts, encryptPayloads: false });
  const ids = await Promise.all(Array.from({ length: 11 }, () => openOrder(stack)));
  const rows = await Promise.all(ids.map((id) => findOrder(stack.db, id)));
  const held = await holdSaves(ids.slice(0, 10));
  const saved: string[] = [];
  const changes = rows.map(async (row) => {
    await workflows.change(row!, { event: 'cancel', actor: 'seller', channel: 'api', reason: null });
    saved.push(row!.id);
  });
  const drained = workflows.drain();
  await held.rollback();
  await drained;
  expect(saved.length).toBe(11);
  await Promise.all(changes);
});
