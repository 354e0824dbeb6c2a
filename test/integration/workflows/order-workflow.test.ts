import { temporal } from '@temporalio/proto';
import { Webhook } from 'standardwebhooks';
import { resendWebhookSignal } from '../../../workflows/messages';
import { BASE } from '../../support/api';
import { constants } from '../../support/constants';
import { approveInRow, noWebhookPending, openOrder, runsOf, statusOf, timelineOf } from '../../support/orders';
import { expectProblem } from '../../support/problems';
import { useReceiver } from '../../support/receiver';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';

const { EventType } = temporal.api.enums.v1;

/** The second attempt at a webhook comes after an hour. */
const stack = useStack({ env: { WEBHOOK_RETRY_DELAYS: '0,3600,3600', ...constants({ readBudgetMs: 10_000 }) } });
const receiver = useReceiver('test');

const workflow = (id: string) => stack.client.workflow.getHandle(`order-${id}`);
const webhookIds = async (id: string): Promise<string[]> =>
  (
    await stack.db.query<{ id: string }>('select id from webhook_event where order_id = $1 order by sequence', [id])
  ).rows.map((row) => row.id);
const sequences = () => receiver.deliveries.map(({ body }) => body.data.sequence as number);

/** The webhook attempt that the Temporal UI shows under "Pending Activities". */
async function pendingWebhook(id: string) {
  const { raw } = await workflow(id).describe();
  return raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'sendWebhook');
}

test('a whole order sends three signed webhooks in order and completes with at most 60 history events', async () => {
  const facts = { source: 'shop', meta_data: { cart: [7, null] } };
  const id = await openOrder(stack, { webhook_url: receiver.url, ...facts });
  for (const event of ['signup_started', 'approved', 'completed'] as const) {
    await stack.api.progress(id, event);
    // A change that comes before the attempt ends makes the workflow call it again, which takes more events.
    await until(() => noWebhookPending(stack, [id]), 'the webhook is delivered');
  }
  expect(await workflow(id).result()).toMatchObject({ status: 'SUCCESSFUL', version: 4 });
  expect(sequences()).toEqual([1, 2, 3]);
  const { data } = (await stack.api.get(id)).body;
  expect(data).toMatchObject({ status: 'SUCCESSFUL', ...facts });
  expect(receiver.deliveries[2]!.body.data.order).toEqual(data);
  for (const { text, headers } of receiver.deliveries)
    new Webhook(stack.seller.webhookSecret).verify(text, headers as Record<string, string>);
  const events = (await workflow(id).fetchHistory()).events ?? [];
  process.stdout.write(`one order, three webhooks: ${events.length} history events\n`);
  expect(events.length).toBeLessThanOrEqual(60);
  expect(events.some(({ eventType }) => eventType === EventType.EVENT_TYPE_MARKER_RECORDED)).toBe(false);
});

test('a failed webhook shows its attempt, error and next time in Temporal, and adds no event while it waits', async () => {
  receiver.answerWith(500);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  const pending = await until(async () => {
    const found = await pendingWebhook(id);
    return found?.attempt === 2 ? found : undefined;
  }, 'the first attempt has failed');
  expect(pending.lastFailure).toMatchObject({ message: 'attempt 1: HTTP 500', stackTrace: '' });
  expect(Number(pending.scheduledTime?.seconds) - Date.now() / 1000).toBeGreaterThan(3000);
  const types = (await workflow(id).fetchHistory()).events!.map(({ eventType }) => eventType);
  expect(types.filter((type) => type === EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED)).toEqual([]);
});

test('a resend of the waiting webhook ends its wait', async () => {
  receiver.answerWith(500);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(async () => (await pendingWebhook(id))?.attempt === 2, 'the first attempt has failed');
  receiver.answerWith(200);
  const [webhookId] = await webhookIds(id);
  expect((await stack.api.call('POST', `${BASE}/webhook_event/${webhookId}/resend/`)).status).toBe(202);
  expect(await workflow(id).result()).toMatchObject({ status: 'UNSUCCESSFUL' });
  expect(sequences()).toEqual([1, 1]);
});

test('a resend for a closed order starts a short run', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await workflow(id).result();
  const [webhookId] = await webhookIds(id);
  expect((await stack.api.call('POST', `${BASE}/webhook_event/${webhookId}/resend/`)).status).toBe(202);
  await until(() => receiver.deliveries.length === 2, 'the webhook is sent again');
  await until(async () => (await statusOf(stack.client, id)) === 'COMPLETED', 'the run has completed');
  await until(async () => (await runsOf(stack, id)).length === 2, 'there are two runs');
  expect(receiver.deliveries[1]!.headers['webhook-id']).toBe(receiver.deliveries[0]!.headers['webhook-id']);
});

test('a resend of an unknown webhook, and one without an id, do no harm', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await workflow(id).signal(resendWebhookSignal, '00000000-0000-4000-8000-000000000000');
  await workflow(id).signal('resendWebhook');
  expect((await stack.api.cancel(id)).status).toBe(200);
  expect(await workflow(id).result()).toMatchObject({ status: 'UNSUCCESSFUL' });
});

test('an order whose row has another change is changed by a new run', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await approveInRow(stack.db, id, '0');
  const response = await stack.api.cancel(id);
  expect([response.status, response.body.data?.status]).toEqual([200, 'UNSUCCESSFUL']);
  expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual([
    'created',
    'signup_started',
    'approved',
    'cancel',
  ]);
  await until(async () => (await runsOf(stack, id)).length === 2, 'there are two runs');
});

test('a change that the row allows, but not a run that lacks a change of the row, returns 503', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await approveInRow(stack.db, id, '0');
  const { detail } = expectProblem(await stack.api.progress(id, 'completed'), 503, 'service_unavailable');
  expect(detail).toContain('Nothing changed.');
  const other = { headers: { 'If-Match': '"9"' } };
  expectProblem(await stack.api.progress(id, 'completed', undefined, other), 412, 'precondition_failed');
  expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual(['created', 'signup_started', 'approved']);
});

test('the call stack in the Temporal UI names the lines at which the workflow waits', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  expect(await workflow(id).query('__stack_trace')).toMatch(/at waitUntil \(.*workflows\/order-workflow\.ts:\d+/);
});
