import { insertOrder } from '../../../src/db/insert-order';
import { requestResends } from '../../../src/db/webhook-events';
import { BASE } from '../../support/api';
import { startTestServer } from '../../support/listening-server';
import { openOrder, runsOf, statusOf, timelineOf } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { startSlowReceiver } from '../../support/slow-receiver';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';
import { newOrder, saveHistory } from '../../support/new-orders';
import { applyEvents } from '../../support/order-histories';

/** Seconds before each of three attempts. No test waits for the second one. */
const stack = useStack({ env: { WEBHOOK_RETRY_DELAYS: '0,30,0.1' } });
const receiver = useReceiver('test');

interface Event {
  id: string;
  sequence: number;
  state: string;
  attempts: number;
  next: Date | null;
  resend: Date | null;
}

async function eventsOf(orderId: string): Promise<Event[]> {
  const { rows } = await stack.db.query<Event>(
    `select id, sequence, state, attempts, next_attempt_at as next, resend_requested_at as resend
     from webhook_event where order_id = $1 order by sequence`,
    [orderId],
  );
  return rows;
}

const stepsOf = async (eventId: string) =>
  (
    await stack.db.query<{ attempt: number; step: number | null; status: number | null }>(
      'select attempt, step, status from webhook_attempt where event_id = $1 order by attempt',
      [eventId],
    )
  ).rows;

const resend = (eventId: string) => stack.api.call('POST', `${BASE}/webhook_event/${eventId}/resend/`);
const untilResent = (orderId: string) =>
  until(async () => (await eventsOf(orderId)).every((event) => !event.resend), 'the webhook is resent');

/** Creates an order whose first webhook has failed once and waits 30 s for its next attempt. */
async function waitingOrder(...events: string[]): Promise<{ id: string; event: Event }> {
  receiver.answerWith(500);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', ...events]);
  await until(async () => (await eventsOf(id))[0]!.attempts === 1, 'the first attempt has failed');
  return { id, event: (await eventsOf(id))[0]! };
}

test('a successful resend interrupts the backoff, ends the retries and releases the next webhook', async () => {
  const { id, event } = await waitingOrder('approved');
  receiver.answerWith(200);
  const answer = await resend(event.id);
  expect(answer.status).toBe(202);
  expect(answer.body.data).toMatchObject({ id: event.id, order_id: id, sequence: 1, state: 'pending', attempts: 1 });
  await until(
    async () => (await eventsOf(id)).every(({ state }) => state === 'delivered'),
    'both webhooks are delivered',
    15_000,
  );
  expect(receiver.deliveries.map(({ body }) => body.data.sequence)).toEqual([1, 1, 2]);
  expect(await stepsOf(event.id)).toEqual([
    { attempt: 1, step: 1, status: 500 },
    { attempt: 2, step: null, status: 200 },
  ]);
  expect(new Set(receiver.deliveries.slice(0, 2).map(({ headers }) => headers['webhook-id']))).toEqual(
    new Set([event.id]),
  );
});

test('a failed resend does not change the schedule', async () => {
  const { id, event } = await waitingOrder();
  await resend(event.id);
  await untilResent(id);
  expect((await eventsOf(id))[0]).toMatchObject({ state: 'pending', attempts: 1, next: event.next });
  expect(await stepsOf(event.id)).toEqual([
    { attempt: 1, step: 1, status: 500 },
    { attempt: 2, step: null, status: 500 },
  ]);
});

test('a webhook that waits for an earlier one can be resent', async () => {
  receiver.answerWith(({ body }) => (body.data.sequence === 1 ? 500 : 200));
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'approved']);
  await until(() => receiver.deliveries.length === 1, 'the first webhook has failed');
  const second = (await eventsOf(id))[1]!;
  await resend(second.id);
  await untilResent(id);
  expect((await eventsOf(id)).map(({ state }) => state)).toEqual(['pending', 'delivered']);
});

test('a resend after the end of the workflow starts a run, which ends after the delivery', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(async () => (await statusOf(stack.client, id)) === 'COMPLETED', 'the workflow has completed');
  const [event] = await eventsOf(id);
  await resend(event!.id);
  await untilResent(id);
  expect(receiver.deliveries).toHaveLength(2);
  expect(receiver.deliveries[1]!.text).toBe(receiver.deliveries[0]!.text);
  expect((await eventsOf(id))[0]!.state).toBe('delivered');
  await until(async () => (await statusOf(stack.client, id)) === 'COMPLETED', 'the workflow has completed again');
  await until(async () => (await runsOf(stack, id)).length === 2, 'Temporal lists both runs');
  const isSettled = async (): Promise<boolean> =>
    (await stack.db.query('select from order_work where order_id = $1', [id])).rowCount === 0;
  await until(isSettled, 'the order is settled again');
});

test("neither a resend nor a cancel after Temporal's retention is recorded as a recovery", async () => {
  /** A settled order without a run. Temporal takes a minute to delete one. */
  const expired = async (): Promise<string> => {
    const order = newOrder(stack.seller.id, { webhookUrl: receiver.url });
    await insertOrder(stack.db, order);
    const { id } = order.order;
    await saveHistory(stack.db, applyEvents(order, 'failed'));
    await stack.db.query(`update webhook_event set state = 'delivered' where order_id = $1`, [id]);
    await stack.db.query('delete from order_work where order_id = $1', [id]);
    return id;
  };
  const [resent, cancelled, swept] = [await expired(), await expired(), await expired()];
  const [first, , third] = await Promise.all([resent, cancelled, swept].map(eventsOf));
  await resend(first![0]!.id);
  await requestResends(stack.db, [third![0]!.id], 0);
  expect((await stack.api.cancel(cancelled)).status).toBe(200);
  for (const id of [resent, swept]) await untilResent(id);
  expect(receiver.deliveries).toHaveLength(2);
  const changes = async (id: string) => (await timelineOf(stack, id)).map(({ event }) => event);
  expect(await changes(resent)).toEqual(['created', 'failed']);
  expect(await changes(swept)).toEqual(['created', 'failed']);
  expect(await changes(cancelled)).toEqual(['created', 'failed', 'cancel']);
});

test('a failed resend does not change the state of an ended webhook', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(async () => (await eventsOf(id))[0]!.state === 'delivered', 'the webhook is delivered');
  const [event] = await eventsOf(id);
  receiver.answerWith(500);
  for (const state of ['delivered', 'exhausted', 'disabled']) {
    await stack.db.query('update webhook_event set state = $2 where id = $1', [event!.id, state]);
    await resend(event!.id);
    await untilResent(id);
    expect((await eventsOf(id))[0]!.state).toBe(state);
  }
});

test('after a 410 a successful resend is delivered, and later webhooks are sent again', async () => {
  receiver.answerWith(410);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(async () => (await eventsOf(id))[0]!.state === 'disabled', 'the webhook is disabled');
  receiver.answerWith(200);
  await resend((await eventsOf(id))[0]!.id);
  await untilResent(id);
  await stack.api.progress(id, 'approved');
  await until(async () => (await eventsOf(id))[1]?.state === 'delivered', 'the next webhook is delivered');
  expect((await eventsOf(id)).map(({ state }) => state)).toEqual(['delivered', 'delivered']);
});

test('ten concurrent requests cause one or two resends, and no attempts overlap', async () => {
  const { seen, ...slow } = await startSlowReceiver(2000);
  const id = await openOrder(stack, { webhook_url: slow.url }, ['signup_started']);
  await until(() => seen.open === 1, 'the first attempt has started');
  const [event] = await eventsOf(id);
  const answers = await Promise.all(Array.from({ length: 10 }, () => resend(event!.id)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
  await untilResent(id);
  expect(seen.maxOpen).toBe(1);
  expect([2, 3]).toContain(seen.sequences.length);
  await slow.close();
});

test('a resend that is requested while another one hangs is made right after it', async () => {
  const { id, event } = await waitingOrder();
  let release = (): void => undefined;
  const hanging = await startTestServer((request, response) => {
    request.resume();
    count++;
    if (count === 1) release = () => void response.writeHead(500).end();
    else response.end();
  });
  let count = 0;
  await stack.db.query('update orders set webhook_url = $2 where id = $1', [id, hanging.url]);
  await resend(event.id);
  await until(() => count === 1, 'the first resend hangs');
  await resend(event.id);
  release();
  await until(() => count === 2, 'the second resend is made', 15_000);
  await untilResent(id);
  expect((await eventsOf(id))[0]!.state).toBe('delivered');
  await hanging.close();
});

test('a 410 on a resend disables the later webhooks of the order', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(async () => (await eventsOf(id))[0]!.state === 'delivered', 'the webhook is delivered');
  receiver.answerWith(410);
  await resend((await eventsOf(id))[0]!.id);
  await untilResent(id);
  await stack.api.progress(id, 'approved');
  expect((await eventsOf(id)).map(({ state }) => state)).toEqual(['disabled', 'disabled']);
  expect(receiver.deliveries).toHaveLength(2);
});

test('the sweep notifies running, completed and terminated workflows of a resend if nothing else did', async () => {
  const running = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  const ended = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  const terminated = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(() => receiver.deliveries.length === 3, 'all webhooks have arrived');
  await until(async () => (await statusOf(stack.client, ended)) === 'COMPLETED', 'one workflow has completed');
  await stack.client.workflow.getHandle(`order-${terminated}`).terminate();
  const ids = (await Promise.all([running, ended, terminated].map(eventsOf))).map(([event]) => event!.id);
  await requestResends(stack.db, ids, 0);
  for (const id of [running, ended, terminated]) await untilResent(id);
  expect(receiver.deliveries).toHaveLength(6);
});

test('a resend that is requested while no worker runs is made later', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(() => receiver.deliveries.length === 1, 'the webhook has arrived');
  await until(async () => (await statusOf(stack.client, id)) === 'COMPLETED', 'the workflow has completed');
  await stack.stopWorker();
  expect((await resend((await eventsOf(id))[0]!.id)).status).toBe(202);
  await stack.startWorker();
  await untilResent(id);
  expect(receiver.deliveries).toHaveLength(2);
});
