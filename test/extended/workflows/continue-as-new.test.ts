import { requestResends } from '../../../src/db/webhook-events';
import { applied, endReferral, useCheckout } from '../../support/checkout';
import {
  detailsOf,
  openOrder,
  postponeSweep,
  queryOrder,
  restoreApproved,
  timelineOf,
  versionOfRow,
} from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { until } from '../../support/until';

const stack = useCheckout({
  env: {
    SANDBOX_REFERRAL_MS: '600000',
    WEBHOOK_RETRY_DELAYS: '0,600,0.2',
    WEBHOOK_WAIT_LIMIT_WITH_SUCCESSOR_MS: '1000',
  },
});
const receiver = useReceiver('test');

jest.setTimeout(120_000);

const workflow = (id: string) => stack.client.workflow.getHandle(`order-${id}`);
const details = (id: string) => detailsOf(stack.client, id);
const sequences = () => receiver.deliveries.map(({ body }) => body.data.sequence as number);

/** Continues an order's run as new, and checks that this leaves no entry in the timeline. */
async function continueAsNew(id: string): Promise<void> {
  await fillHistory(id);
  expect((await timelineOf(stack, id)).map(({ event }) => event)).not.toContain('recovered');
}

/** Fills the history of an order's run, while the sweep leaves the order alone, until the order has a new run. */
async function fillHistory(id: string): Promise<void> {
  await postponeSweep(stack.db, id);
  const { runId } = await workflow(id).describe();
  const isContinued = async (): Promise<boolean> => {
    // A signal that no handler takes changes nothing.
    await Promise.all(Array.from({ length: 100 }, () => workflow(id).signal('fill-the-history')));
    // Signals that arrive while it continues as new make it start again.
    await until(async () => !(await workflow(id).describe()).raw.pendingWorkflowTask, 'its last task ends', 30_000);
    return (await workflow(id).describe()).runId !== runId;
  };
  await until(isContinued, 'the workflow has continued as new', 90_000);
  expect((await stack.client.workflow.getHandle(`order-${id}`, runId).describe()).status.name).toBe('CONTINUED_AS_NEW');
  await until(() => queryOrder(stack.client, id), 'the new run has read the row');
}

test('a webhook in its backoff keeps its wait, its attempts and its place in a run that is continued as new', async () => {
  receiver.answerWith(500);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  const dueAt = async () => {
    const line = await until(async () => /webhook 1: attempt 2 at (\S+Z)/.exec(await details(id)), 'webhook 1 waits');
    return Date.parse(line[1]!);
  };
  await dueAt();
  const { rows } = await stack.db.query<{ next: Date }>(
    'select next_attempt_at as next from webhook_event where order_id = $1',
    [id],
  );
  const shiftOfNewRun = async () => {
    await continueAsNew(id);
    return Math.abs((await dueAt()) - rows[0]!.next.getTime());
  };
  // The details show whole seconds. A run that starts while the machine stalls shows a later time.
  expect(Math.min(await shiftOfNewRun(), await shiftOfNewRun())).toBeLessThanOrEqual(2000);
  receiver.answerWith(200);
  await stack.api.progress(id, 'approved');
  await until(() => sequences().length === 3, 'both webhooks have arrived');
  expect(sequences()).toEqual([1, 1, 2]);
});

test('a requested resend is made by a run that is continued as new', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(() => receiver.deliveries.length === 1, 'the webhook has arrived');
  const { rows } = await stack.db.query<{ id: string }>('select id from webhook_event where order_id = $1', [id]);
  await requestResends(stack.db, [rows[0]!.id], 600_000);
  await continueAsNew(id);
  await until(() => receiver.deliveries.length === 2, 'the webhook has arrived again');
  expect(sequences()).toEqual([1, 1]);
});

test('the lender is asked again about a referred application by a run that is continued as new', async () => {
  const id = await applied(stack, 'referred@bloggs.example', { sweepAfterMs: 600_000 });
  await until(async () => (await details(id)).includes('has not decided yet'), 'the application is referred');
  await endReferral(stack.db, id);
  await continueAsNew(id);
  await until(async () => (await queryOrder(stack.client, id))?.status === 'APPROVED', 'the order is approved');
});

test('a run that is continued as new keeps a change that the row of a restored backup lacks', async () => {
  receiver.answerWith(({ body }) => (body.data.sequence === 3 ? 500 : 200));
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'approved', 'completed']);
  await until(async () => /webhook 3: attempt 2 at/.test(await details(id)), 'the last webhook waits');
  await restoreApproved(stack, id);
  await fillHistory(id);
  expect((await queryOrder(stack.client, id))?.version).toBe(4);
  expect(await versionOfRow(stack, id)).toBe(4);
  expect((await timelineOf(stack, id)).at(-1)).toMatchObject({
    event: 'recovered',
    channel: 'workflow',
    reason: 'the row lacked 1 change of the last run',
  });
  expect((await stack.api.cancel(id)).body.code).toBe('order_not_cancellable');
});
