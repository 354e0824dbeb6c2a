import type { ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { constants } from '../../support/constants';
import { startTestServer } from '../../support/listening-server';
import { noWebhookPending, openOrder, timelineOf } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { QUICK, useStack, withNewSeller } from '../../support/stack';
import { until } from '../../support/until';

/** Seconds before each of seven attempts. No test waits for the last two. */
const DELAYS = [0, 0.3, 0.3, 0.3, 0.3, 3600, 3600];

const MAX_WAIT_WITH_SUCCESSOR_MS = 2000;
const stack = useStack({
  env: {
    WEBHOOK_RETRY_DELAYS: DELAYS.join(','),
    ...constants({ webhookSchedule: { maxWaitWithSuccessorMs: MAX_WAIT_WITH_SUCCESSOR_MS } }),
  },
});
const receiver = useReceiver('test');

interface EventRow {
  sequence: number;
  state: string;
  attempts: number;
}

async function eventsOf(id: string): Promise<EventRow[]> {
  const { rows } = await stack.db.query<EventRow>(
    'select sequence, state, attempts from webhook_event where order_id = $1 order by sequence',
    [id],
  );
  return rows;
}

async function attemptsOf(id: string) {
  const { rows } = await stack.db.query<{
    attempt: number;
    status: number | null;
    error: string | null;
    next: Date | null;
  }>(
    `select a.attempt, a.status, a.error, a.next_attempt_at as next
     from webhook_attempt a join webhook_event e on e.id = a.event_id where e.order_id = $1 order by e.sequence, a.attempt`,
    [id],
  );
  return rows;
}

/** Expects that none of an order's attempts arrived before the time that the one before it had planned. */
async function expectNotEarly(id: string): Promise<void> {
  const planned = (await attemptsOf(id)).flatMap(({ next }) => next ?? []);
  expect(planned).toHaveLength(receiver.deliveries.length - 1);
  // Postgres rounds the times.
  for (const [index, next] of planned.entries())
    expect(receiver.deliveries[index + 1]!.at).toBeGreaterThanOrEqual(next.getTime() - 20);
}

const hasEnded = (id: string) => noWebhookPending(stack, [id]);

test('a failed webhook is retried on the schedule with the same id and the same body', async () => {
  receiver.answerWith(500);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(() => receiver.deliveries.length === 2, 'two attempts have arrived');
  receiver.answerWith(200);
  await until(() => hasEnded(id), 'the webhook has ended');
  expect(await eventsOf(id)).toEqual([{ sequence: 1, state: 'delivered', attempts: 3 }]);
  expect(await attemptsOf(id)).toMatchObject([
    { attempt: 1, status: 500, error: 'http_status' },
    { attempt: 2, status: 500, error: 'http_status' },
    { attempt: 3, status: 200, error: null, next: null },
  ]);
  expect(new Set(receiver.deliveries.map(({ text }) => text)).size).toBe(1);
  expect(new Set(receiver.deliveries.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  await expectNotEarly(id);
});

test('a call that fails because Postgres is unavailable or its worker died is repeated within a minute', async () => {
  receiver.answerWith(200);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(() => hasEnded(id), 'the webhook has ended');
  const { events } = await stack.client.workflow.getHandle(`order-${id}`).fetchHistory();
  const call = events!
    .map((event) => event.activityTaskScheduledEventAttributes)
    .find((attributes) => attributes?.activityType?.name === 'sendWebhook')!;
  expect(Number(call.startToCloseTimeout!.seconds)).toBe(30);
  expect(Number(call.retryPolicy!.initialInterval!.seconds)).toBe(1);
  expect(call.retryPolicy!.backoffCoefficient).toBe(2);
  expect(Number(call.retryPolicy!.maximumInterval!.seconds)).toBe(60);
});

test('a later webhook is sent right after the delivery of the one before it', async () => {
  receiver.answerWith(() => (receiver.deliveries.length < 3 ? 503 : 200));
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'approved', 'completed']);
  await until(() => hasEnded(id), 'all webhooks have ended');
  expect(receiver.deliveries.map(({ body }) => body.data.sequence)).toEqual([1, 1, 1, 2, 3]);
  expect(receiver.deliveries.map(({ body }) => body.data.previous_status)).toEqual([
    ...['CREATED', 'CREATED', 'CREATED', 'PENDING', 'APPROVED'],
  ]);
});

test('a webhook with five failed attempts is exhausted as soon as a later one waits, even during a long backoff', async () => {
  receiver.answerWith(({ body }) => (body.data.sequence === 1 ? 500 : 200));
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(async () => (await eventsOf(id))[0]!.attempts === 5, 'five attempts are recorded');
  // The next attempt is an hour away.
  await stack.api.progress(id, 'approved');
  await until(() => hasEnded(id), 'both webhooks have ended');
  expect(await eventsOf(id)).toEqual([
    { sequence: 1, state: 'exhausted', attempts: 5 },
    { sequence: 2, state: 'delivered', attempts: 1 },
  ]);
});

test('a long Retry-After is cut short as soon as a later webhook waits, although the wait has begun', async () => {
  receiver.answerWith(503, { 'retry-after': '86400' });
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(async () => (await eventsOf(id))[0]!.attempts === 1, 'the first attempt is recorded');
  const [first] = await attemptsOf(id);
  expect(first!.next!.getTime()).toBeGreaterThan(Date.now() + 86_000_000);
  receiver.answerWith(200);
  await stack.api.progress(id, 'approved');
  await until(() => hasEnded(id), 'both webhooks have ended');
  expect(receiver.deliveries.map(({ body }) => body.data.sequence)).toEqual([1, 1, 2]);
  expect(receiver.deliveries[1]!.at - receiver.deliveries[0]!.at).toBeGreaterThanOrEqual(
    MAX_WAIT_WITH_SUCCESSOR_MS - 100,
  );
});

test('an order sends no further webhooks after a 410', async () => {
  receiver.answerWith(410);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(() => hasEnded(id), 'the webhook has ended');
  await stack.api.progress(id, 'approved');
  await stack.api.cancel(id);
  await stack.client.workflow.getHandle(`order-${id}`).result();
  expect((await eventsOf(id)).map(({ state }) => state)).toEqual(['disabled', 'disabled', 'disabled']);
  expect(receiver.deliveries).toHaveLength(1);
});

test('attempts for a seller without a webhook secret are recorded as no_secret and retried on the schedule', async () => {
  const { seller, api } = await withNewSeller(stack);
  await stack.db.query('delete from webhook_secret where seller_id = $1', [seller.id]);
  const { body } = await api.create({ webhook_url: receiver.url });
  const { id } = body.data;
  await api.progress(id, 'failed');
  const attempts = await until(async () => {
    const found = await attemptsOf(id);
    return found.length >= 2 ? found : undefined;
  }, 'two attempts are recorded');
  expect(attempts.slice(0, 2)).toMatchObject([{ error: 'no_secret' }, { error: 'no_secret' }]);
  expect(receiver.deliveries).toHaveLength(0);
});

test('Retry-After delays the next attempt', async () => {
  receiver.answerWith(429, { 'Retry-After': '2' });
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(() => receiver.deliveries.length === 1, 'the first attempt has arrived');
  receiver.answerWith(200);
  await until(() => hasEnded(id), 'the webhook has ended');
  const [first] = await attemptsOf(id);
  expect(first!.next!.getTime()).toBeGreaterThanOrEqual(receiver.deliveries[0]!.at + 2000);
  await expectNotEarly(id);
});

test('an attempt that runs when the worker shuts down, and takes longer than its grace period, is recorded', async () => {
  let isOpen = false;
  const slow = await startTestServer((request, response) => {
    isOpen = true;
    request.resume();
    setTimeout(() => response.end(), 2 * Number(QUICK.SHUTDOWN_GRACE_MS));
  });
  const id = await openOrder(stack, { webhook_url: slow.url }, ['signup_started']);
  await until(() => isOpen, 'the attempt has started');
  await stack.stopWorker();
  expect(await eventsOf(id)).toEqual([{ sequence: 1, state: 'delivered', attempts: 1 }]);
  expect(await attemptsOf(id)).toMatchObject([{ attempt: 1, status: 200, error: null }]);
  // Temporal has its result too. Otherwise the next attempt would wait for the activity's timeout.
  const { raw } = await stack.client.workflow.getHandle(`order-${id}`).describe();
  expect(raw.pendingActivities).toEqual([]);
  await stack.startWorker();
  await slow.close();
});

test('a restart of the worker neither skips nor repeats a step of the schedule', async () => {
  receiver.answerWith(500);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(async () => (await eventsOf(id))[0]!.attempts >= 2, 'two attempts are recorded');
  await stack.stopWorker();
  await stack.startWorker();
  // A task that the stopped worker took along is repeated after 40 s.
  await until(async () => (await eventsOf(id))[0]!.attempts === 5, 'three more attempts are recorded', 110_000);
  expect((await attemptsOf(id)).map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5]);
  expect(receiver.deliveries).toHaveLength(5);
  await stack.api.cancel(id);
});

test('a resumed workflow continues the schedule of its webhooks', async () => {
  receiver.answerWith(() => (receiver.deliveries.length <= 3 ? 500 : 200));
  // Not final: its run can be terminated even if the fourth attempt has already been made.
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(async () => (await eventsOf(id))[0]!.attempts >= 3, 'three attempts are recorded');
  await stack.client.workflow.getHandle(`order-${id}`).terminate();
  await until(() => hasEnded(id), 'the workflow is resumed and the webhook has ended');
  expect(await eventsOf(id)).toEqual([{ sequence: 1, state: 'delivered', attempts: 4 }]);
  await expectNotEarly(id);
});

describe('an endpoint that hangs', () => {
  const busy = useStack({
    env: {
      WEBHOOK_CONCURRENCY: '4',
      WEBHOOK_CONCURRENCY_PER_SELLER: '2',
      // Otherwise its orders would stop making attempts.
      ...constants({ webhookBreaker: { failures: 1000 } }),
      UPDATE_TIMEOUT_MS: '60000',
    },
  });

  test('takes only the slots of its seller, and holds up neither saves nor other sellers', async () => {
    const open = new Set<ServerResponse>();
    let maxOpen = 0;
    const hanging = await startTestServer((_request, response) => {
      open.add(response);
      response.on('close', () => open.delete(response));
      // The server may learn of a closed connection after that of a new one.
      setTimeout(() => (maxOpen = Math.max(maxOpen, open.size)), 100);
    });
    const stuck = await Promise.all(
      Array.from({ length: 12 }, () => openOrder(busy, { webhook_url: hanging.url }, ['signup_started'])),
    );
    await until(() => maxOpen === 2, 'its seller has no free slot');
    // Changes of the stuck orders are still saved.
    const changed = await Promise.all(stuck.map((id) => busy.api.progress(id, 'approved')));
    expect(changed.map(({ status }) => status)).toEqual(stuck.map(() => 200));

    await openOrder(await withNewSeller(busy), { webhook_url: receiver.url }, ['failed']);
    await until(() => receiver.deliveries.length === 1, "the other seller's webhook has arrived");
    // Two slots are always left to the other sellers.
    expect(maxOpen).toBe(2);
    await hanging.close();
  });
});

test('a webhook is signed with every active secret', async () => {
  const { webhookSecret, id: sellerId } = stack.seller;
  const next = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  await stack.db.query('insert into webhook_secret (seller_id, secret) values ($1, $2)', [sellerId, next]);
  await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(() => receiver.deliveries.length === 1, 'the webhook has arrived');
  const { text, headers } = receiver.deliveries[0]!;
  for (const secret of [webhookSecret, next]) new Webhook(secret).verify(text, headers as Record<string, string>);
  await stack.db.query('delete from webhook_secret where secret = $1', [next]);
});

test('an order without a webhook URL and the cancel of an UNSUCCESSFUL order send no webhook', async () => {
  const withoutUrl = await openOrder(stack, {}, ['failed']);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(() => hasEnded(id), 'the webhook has ended');
  await stack.api.cancel(id);
  expect(await timelineOf(stack, id)).toHaveLength(3);
  expect(await eventsOf(id)).toHaveLength(1);
  expect(await eventsOf(withoutUrl)).toMatchObject([{ state: 'disabled', attempts: 0 }]);
});
