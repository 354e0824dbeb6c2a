import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { requestResends } from '../../../src/db/webhook-events';
import { BASE } from '../../support/api';
import { openOrder, runsOf, statusOf } from '../../support/orders';
import { type Receiver, startReceiver } from '../../support/receiver';
import { type Stack, startStack } from '../../support/stack';
import { until } from '../../support/until';

let stack: Stack;
let receiver: Receiver;
beforeAll(async () => {
  // Seconds before each of three attempts: the second one is not waited for.
  stack = await startStack({ env: { WEBHOOK_RETRY_DELAYS: '0,30,0.1' } });
});
afterAll(() => stack.stop());
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.stop());

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
const resent = (orderId: string) =>
  until(async () => (await eventsOf(orderId)).every((e) => !e.resend), 'it is resent');

/** An order whose first webhook has failed once and waits 30 s for its next attempt. */
async function waitingOrder(...events: string[]): Promise<{ id: string; event: Event }> {
  receiver.answerWith(500);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', ...events]);
  await until(async () => (await eventsOf(id))[0]!.attempts === 1, 'the first attempt failed');
  return { id, event: (await eventsOf(id))[0]! };
}

test('a resend cuts a waiting backoff short; its success ends the retries and lets the next one go', async () => {
  const { id, event } = await waitingOrder('approved');
  receiver.answerWith(200);
  const answer = await resend(event.id);
  expect(answer.status).toBe(202);
  expect(answer.body.data).toMatchObject({ id: event.id, order_id: id, sequence: 1, state: 'pending', attempts: 1 });
  await until(async () => (await eventsOf(id)).every(({ state }) => state === 'delivered'), 'both are delivered', 5000);
  expect(receiver.deliveries.map(({ body }) => body.data.sequence)).toEqual([1, 1, 2]);
  expect(await stepsOf(event.id)).toEqual([
    { attempt: 1, step: 1, status: 500 },
    { attempt: 2, step: null, status: 200 },
  ]);
  expect(new Set(receiver.deliveries.slice(0, 2).map(({ headers }) => headers['webhook-id']))).toEqual(
    new Set([event.id]),
  );
});

test('a resend that fails moves nothing in the schedule', async () => {
  const { id, event } = await waitingOrder();
  await resend(event.id);
  await resent(id);
  expect((await eventsOf(id))[0]).toMatchObject({ state: 'pending', attempts: 1, next: event.next });
  expect(await stepsOf(event.id)).toEqual([
    { attempt: 1, step: 1, status: 500 },
    { attempt: 2, step: null, status: 500 },
  ]);
});

test('a webhook that waits behind another one can be resent before its turn', async () => {
  receiver.answerWith(({ body }) => (body.data.sequence === 1 ? 500 : 200));
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'approved']);
  await until(() => receiver.deliveries.length === 1, 'the head failed');
  const second = (await eventsOf(id))[1]!;
  await resend(second.id);
  await resent(id);
  expect((await eventsOf(id)).map(({ state }) => state)).toEqual(['pending', 'delivered']);
});

test('a delivered webhook of an order whose workflow has ended comes once more, and the workflow ends again', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(async () => (await statusOf(stack.client, id)) === 'COMPLETED', 'it ended');
  const [event] = await eventsOf(id);
  await resend(event!.id);
  await resent(id);
  expect(receiver.deliveries).toHaveLength(2);
  expect(receiver.deliveries[1]!.text).toBe(receiver.deliveries[0]!.text);
  expect((await eventsOf(id))[0]!.state).toBe('delivered');
  await until(async () => (await statusOf(stack.client, id)) === 'COMPLETED', 'it ended again');
  expect(await runsOf(stack, id)).toHaveLength(2);
  const { rowCount } = await stack.db.query(
    'select from orders o where id = $1 and not exists (select from order_work where order_id = o.id)',
    [id],
  );
  expect(rowCount).toBe(1);
});

test('a resend that fails leaves a delivered webhook delivered and an exhausted one exhausted', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(async () => (await eventsOf(id))[0]!.state === 'delivered', 'it is delivered');
  const [event] = await eventsOf(id);
  receiver.answerWith(500);
  for (const state of ['delivered', 'exhausted', 'disabled']) {
    await stack.db.query('update webhook_event set state = $2 where id = $1', [event!.id, state]);
    await resend(event!.id);
    await resent(id);
    expect((await eventsOf(id))[0]!.state).toBe(state);
  }
});

test('after a 410 a successful resend is delivered, and later webhooks are sent again', async () => {
  receiver.answerWith(410);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(async () => (await eventsOf(id))[0]!.state === 'disabled', 'it is disabled');
  receiver.answerWith(200);
  await resend((await eventsOf(id))[0]!.id);
  await resent(id);
  await stack.api.progress(id, 'approved');
  await until(async () => (await eventsOf(id))[1]?.state === 'delivered', 'the next one is delivered');
  expect((await eventsOf(id)).map(({ state }) => state)).toEqual(['delivered', 'delivered']);
});

test('ten calls at once for one webhook are one resend or two, and none overlaps an attempt', async () => {
  let open = 0;
  let most = 0;
  let count = 0;
  const slow = createServer((request, response) => {
    most = Math.max(most, ++open);
    count++;
    request.resume();
    setTimeout(() => {
      open--;
      response.end();
    }, 700);
  }).listen(0, '127.0.0.1');
  await once(slow, 'listening');
  const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/`;
  const id = await openOrder(stack, { webhook_url: url }, ['signup_started']);
  await until(() => open === 1, 'the first attempt is under way');
  const [event] = await eventsOf(id);
  const answers = await Promise.all(Array.from({ length: 10 }, () => resend(event!.id)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
  await resent(id);
  expect(most).toBe(1);
  expect(count).toBeGreaterThanOrEqual(2);
  expect(count).toBeLessThanOrEqual(3);
  slow.close();
});

test('a resend that only Postgres has heard of is made by the sweep, also where the workflow was terminated', async () => {
  const running = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  const ended = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  const terminated = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(() => receiver.deliveries.length === 3, 'all came');
  await until(async () => (await statusOf(stack.client, ended)) === 'COMPLETED', 'one has ended');
  await stack.client.workflow.getHandle(`order-${terminated}`).terminate();
  const ids = (await Promise.all([running, ended, terminated].map(eventsOf))).map(([event]) => event!.id);
  await requestResends(stack.db, ids, 0);
  for (const id of [running, ended, terminated]) await resent(id);
  expect(receiver.deliveries).toHaveLength(6);
});

test('a resend asked for while no worker runs is made by the next one', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(() => receiver.deliveries.length === 1, 'it came');
  await until(async () => (await statusOf(stack.client, id)) === 'COMPLETED', 'it ended');
  await stack.stopWorker();
  expect((await resend((await eventsOf(id))[0]!.id)).status).toBe(202);
  await stack.startWorker();
  await resent(id);
  expect(receiver.deliveries).toHaveLength(2);
});
