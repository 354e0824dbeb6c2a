import { storedText } from '../../support/history';
import { startTestServer } from '../../support/listening-server';
import { detailsOf, openOrder, resendFirst } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';

const stack = useStack({
  env: {
    // The UI finds the order before the third attempt.
    WEBHOOK_RETRY_DELAYS: `0,0.2,10${',0.2'.repeat(20)}`,
    WEBHOOK_BREAKER_FAILURES: '2',
    WEBHOOK_BREAKER_MIN_WAIT_MS: '2000',
    WEBHOOK_BREAKER_MAX_WAIT_MS: '2000',
  },
});
const receiver = useReceiver('test');

const handle = (id: string) => stack.client.workflow.getHandle(`order-${id}`);
const details = (id: string) => detailsOf(stack.client, id);
const SECRET_URL = 'token=hunter2';

/** The values of `WebhookState` in the order that the last run set them; undefined where it was unset. */
async function webhookStates(id: string): Promise<unknown[]> {
  const { events } = await handle(id).fetchHistory();
  return events!.flatMap(({ upsertWorkflowSearchAttributesEventAttributes: upsert }) => {
    const value = upsert?.searchAttributes?.indexedFields?.WebhookState;
    return value
      ? [(JSON.parse(Buffer.from(value.data ?? []).toString() || 'null') as string | null) ?? undefined]
      : [];
  });
}

const found = async (state: string) => {
  const ids: string[] = [];
  for await (const run of stack.client.workflow.list({ query: `WebhookState = "${state}"` })) ids.push(run.workflowId);
  return ids;
};

test('an order whose webhooks arrive, or fail once, never sets the search attribute WebhookState', async () => {
  receiver.answerWith(() => (receiver.deliveries.length === 1 ? 500 : 200));
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'declined']);
  await handle(id).result();
  expect(receiver.deliveries).toHaveLength(3);
  expect(await webhookStates(id)).toEqual([]);
});

test('the Temporal UI finds an order with a failing webhook, and shows its error and the webhook behind it', async () => {
  receiver.answerWith(500);
  const id = await openOrder(stack, { webhook_url: `${receiver.url}?${SECRET_URL}` }, ['signup_started', 'approved']);
  const failing = /webhook 1: attempt 3 at \d{4}-\S+Z, last error HTTP 500; webhook 2 waits behind it$/m;
  await until(async () => failing.test(await details(id)), 'the details show the failing webhook');
  await until(async () => (await found('retrying')).includes(`order-${id}`), 'the UI finds the order');
  receiver.answerWith(200);
  await resendFirst(stack, id);
  await until(async () => /none pending/.test(await details(id)), 'both webhooks have arrived');
  expect(await webhookStates(id)).toEqual(['retrying', undefined]);
  await until(async () => !(await found('retrying')).includes(`order-${id}`), 'the UI no longer finds the order');
  const stored = await storedText(handle(id));
  expect(stored).toContain('HTTP 500');
  expect(stored).not.toMatch(/hunter2|thanks/);
});

test('the Temporal UI names a webhook that was given up until a resend of it arrives', async () => {
  receiver.answerWith(({ body }) => (body.data.sequence === 1 ? 503 : 200));
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'approved']);
  await until(async () => /webhook 1 was given up, last error HTTP 503/.test(await details(id)), 'it is given up');
  await until(async () => (await found('exhausted')).includes(`order-${id}`), 'the UI finds the order');
  receiver.answerWith(200);
  await resendFirst(stack, id);
  await until(async () => /Webhooks: none pending/.test(await details(id)), 'the resend has arrived');
  expect(await webhookStates(id)).toEqual(['retrying', 'exhausted', undefined]);
});

test('the Temporal UI names a webhook that got a 410 until a resend of it arrives', async () => {
  receiver.answerWith(410);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'approved']);
  const gone = /webhook 1 got HTTP 410: webhooks of this order are disabled$/m;
  await until(async () => gone.test(await details(id)), 'the webhooks are disabled');
  receiver.answerWith(200);
  await resendFirst(stack, id);
  await until(async () => /Webhooks: none pending/.test(await details(id)), 'the resend has arrived');
  expect(await webhookStates(id)).toEqual([]);
});

test('the Temporal UI shows that an endpoint does not answer, and that a run was replaced', async () => {
  const silent = await startTestServer((request) => void request.socket.destroy());
  const id = await openOrder(stack, { webhook_url: silent.url }, ['signup_started']);
  await until(async () => /webhook 1 waits: .*next try/.test(await details(id)), 'the webhook waits');
  await until(async () => (await found('waiting')).includes(`order-${id}`), 'the UI finds the order');
  await handle(id).terminate('an operator tests the runbook');
  await until(async () => /replaced/.test(await details(id).catch(() => '')), 'the sweep has replaced the run');
  expect(await details(id)).toMatch(/^- This run replaced another one: `.*terminated.*`$/m);
  await stack.api.cancel(id);
  await silent.close();
});
