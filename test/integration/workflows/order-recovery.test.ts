import { inTransaction } from '../../../src/db/pool';
import { cancelOrderUpdate, cancelSignal, reportProgressUpdate } from '../../../workflows/messages';
import { isRunning, openOrder, queryOrder, timelineOf } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';

const stack = useStack();
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
  expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual(['created', 'signup_started', 'approved']);
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
  const answer = await workflow(id).executeUpdate(reportProgressUpdate, {
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
