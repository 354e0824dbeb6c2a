import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { apiOf } from '../../support/api';
import { openOrder, timelineOf } from '../../support/orders';
import { type Receiver, startReceiver } from '../../support/receiver';
import { type Stack, createSeller, startStack } from '../../support/stack';
import { until } from '../../support/until';

/** Seconds before each of seven attempts. */
const DELAYS = [0, 0.3, 0.3, 0.3, 0.3, 30, 30];

let stack: Stack;
let receiver: Receiver;
beforeAll(async () => {
  stack = await startStack({ env: { WEBHOOK_RETRY_DELAYS: DELAYS.join(',') } });
});
afterAll(() => stack.stop());
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.stop());

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

const settled = async (id: string) => (await eventsOf(id)).every(({ state }) => state !== 'pending');

test('a failed webhook is tried again on the schedule, under the same id and with the same bytes', async () => {
  receiver.answerWith(500);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(() => receiver.deliveries.length === 2, 'two attempts came');
  receiver.answerWith(200);
  await until(() => settled(id), 'it is settled');
  expect(await eventsOf(id)).toEqual([{ sequence: 1, state: 'delivered', attempts: 3 }]);
  expect(await attemptsOf(id)).toMatchObject([
    { attempt: 1, status: 500, error: 'http_status' },
    { attempt: 2, status: 500, error: 'http_status' },
    { attempt: 3, status: 200, error: null, next: null },
  ]);
  const [first, second, third] = receiver.deliveries;
  expect(new Set(receiver.deliveries.map(({ text }) => text)).size).toBe(1);
  expect(new Set(receiver.deliveries.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(second!.at - first!.at).toBeGreaterThanOrEqual(260);
  expect(third!.at - second!.at).toBeGreaterThanOrEqual(260);
});

test('a later webhook waits for the one before it, and comes right after it', async () => {
  receiver.answerWith(() => (receiver.deliveries.length < 3 ? 503 : 200));
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'approved', 'completed']);
  await until(() => settled(id), 'all are settled');
  expect(receiver.deliveries.map(({ body }) => body.data.sequence)).toEqual([1, 1, 1, 2, 3]);
  expect(receiver.deliveries.map(({ body }) => body.data.previous_status)).toEqual([
    ...['CREATED', 'CREATED', 'CREATED', 'PENDING', 'APPROVED'],
  ]);
});

test('while a later event waits the head gets five attempts, then is exhausted, also out of a long wait', async () => {
  receiver.answerWith(({ body }) => (body.data.sequence === 1 ? 500 : 200));
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(async () => (await eventsOf(id))[0]!.attempts === 5, 'five attempts were made');
  // The next attempt would be in 30 seconds.
  await stack.api.progress(id, 'approved');
  await until(() => settled(id), 'both are settled', 5000);
  expect(await eventsOf(id)).toEqual([
    { sequence: 1, state: 'exhausted', attempts: 5 },
    { sequence: 2, state: 'delivered', attempts: 1 },
  ]);
});

test('a 410 ends the attempts at that webhook', async () => {
  receiver.answerWith(410);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(() => settled(id), 'it is settled');
  expect(await eventsOf(id)).toEqual([{ sequence: 1, state: 'disabled', attempts: 1 }]);
});

test('after a 410 the order sends nothing more', async () => {
  receiver.answerWith(410);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(() => settled(id), 'it is settled');
  await stack.api.progress(id, 'approved');
  await stack.api.cancel(id);
  await stack.client.workflow.getHandle(`order-${id}`).result();
  expect((await eventsOf(id)).map(({ state }) => state)).toEqual(['disabled', 'disabled', 'disabled']);
  expect(receiver.deliveries).toHaveLength(1);
});

test('attempts at one order never overlap, not even when its workflow is terminated under one', async () => {
  let open = 0;
  let most = 0;
  const order: number[] = [];
  const slow = createServer((request, response) => {
    most = Math.max(most, ++open);
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      order.push(JSON.parse(Buffer.concat(chunks).toString()).data.sequence);
      setTimeout(() => {
        open--;
        response.end();
      }, 2000);
    });
  }).listen(0, '127.0.0.1');
  await once(slow, 'listening');
  const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/`;
  const id = await openOrder(stack, { webhook_url: url }, ['signup_started']);
  await until(() => open === 1, 'the first attempt is under way');
  await stack.client.workflow.getHandle(`order-${id}`).terminate();
  await stack.api.progress(id, 'approved');
  await until(() => settled(id), 'both are settled');
  expect(most).toBe(1);
  expect(order).toEqual([1, 2]);
  slow.close();
});

test('a seller without a signing secret sees that in the log, and the attempts go on by the schedule', async () => {
  const bare = await createSeller(stack.db);
  await stack.db.query('delete from webhook_secret where seller_id = $1', [bare.id]);
  const api = apiOf(stack.api.url, bare, stack.api.checkoutKey);
  const { body } = await api.create({ webhook_url: receiver.url });
  const { id } = body.data;
  await api.progress(id, 'failed');
  await until(async () => (await attemptsOf(id)).length === 2, 'two attempts were made');
  expect(await attemptsOf(id)).toMatchObject([{ error: 'no_secret' }, { error: 'no_secret' }]);
  expect(receiver.deliveries).toHaveLength(0);
});

test('Retry-After is a floor for the next attempt', async () => {
  receiver.answerWith(429, { 'Retry-After': '2' });
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(() => receiver.deliveries.length === 1, 'the first attempt came');
  receiver.answerWith(200);
  await until(() => settled(id), 'it is settled');
  expect(receiver.deliveries[1]!.at - receiver.deliveries[0]!.at).toBeGreaterThanOrEqual(2000);
});

test('a worker that stops in the middle of the schedule neither skips nor repeats a step of it', async () => {
  receiver.answerWith(500);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  await until(async () => (await eventsOf(id))[0]!.attempts === 2, 'two attempts were made');
  await stack.stopWorker();
  await stack.startWorker();
  await until(async () => (await eventsOf(id))[0]!.attempts === 4, 'two more were made');
  expect((await attemptsOf(id)).map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
  expect(receiver.deliveries).toHaveLength(4);
  await stack.api.cancel(id);
});

test('a terminated order goes on with its webhooks where it stood', async () => {
  receiver.answerWith(500);
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(async () => (await eventsOf(id))[0]!.attempts === 3, 'three attempts were made');
  await stack.client.workflow.getHandle(`order-${id}`).terminate();
  receiver.answerWith(200);
  await until(() => settled(id), 'the sweep resumed it');
  expect(await eventsOf(id)).toEqual([{ sequence: 1, state: 'delivered', attempts: 4 }]);
});

test('one dead endpoint holds up no other order', async () => {
  const live = await startReceiver();
  receiver.answerWith(500);
  const dead = await openOrder(stack, { webhook_url: 'http://127.0.0.1:9/' }, ['failed']);
  const failing = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  const good = await openOrder(stack, { webhook_url: live.url }, ['failed']);
  await until(() => settled(good), 'the good one is settled', 3000);
  expect(await settled(dead)).toBe(false);
  expect(await settled(failing)).toBe(false);
  await live.stop();
});

test('a seller whose endpoint hangs takes its share of the slots, and neither saves nor other sellers wait for it', async () => {
  const busy = await startStack({ env: { WEBHOOK_CONCURRENCY: '4', WEBHOOK_CONCURRENCY_PER_SELLER: '2' } });
  const hanging = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(hanging, 'listening');
  const hangingUrl = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}/`;
  const stuck: string[] = [];
  for (let index = 0; index < 12; index++)
    stuck.push(await openOrder(busy, { webhook_url: hangingUrl }, ['signup_started']));
  // Changes of the stuck orders themselves are saved and answered all the same.
  for (const id of stuck) expect((await busy.api.progress(id, 'approved')).status).toBe(200);

  const other = await createSeller(busy.db);
  const otherApi = apiOf(busy.api.url, other, busy.api.checkoutKey);
  const sentAt = Date.now();
  const { body } = await otherApi.create({ webhook_url: receiver.url });
  await otherApi.progress(body.data.id, 'failed');
  await until(() => receiver.deliveries.length === 1, "the live seller's webhook came", 5000);
  process.stdout.write(`beside 12 hanging webhooks the live seller's came after ${Date.now() - sentAt} ms\n`);
  const { rows } = await busy.db.query(
    'select from webhook_attempt a join webhook_event e on e.id = a.event_id where e.order_id = any($1)',
    [stuck],
  );
  expect(rows).toEqual([]);
  hanging.closeAllConnections();
  hanging.close();
  await busy.stop();
});

test('two live secrets both sign', async () => {
  const { webhookSecret, id: sellerId } = stack.seller;
  const next = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  await stack.db.query('insert into webhook_secret (seller_id, secret) values ($1, $2)', [sellerId, next]);
  await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(() => receiver.deliveries.length === 1, 'it came');
  const { text, headers } = receiver.deliveries[0]!;
  for (const secret of [webhookSecret, next]) new Webhook(secret).verify(text, headers as Record<string, string>);
  await stack.db.query('delete from webhook_secret where secret = $1', [next]);
});

test('an order without a webhook address sends none; cancelling an UNSUCCESSFUL one sends none either', async () => {
  const silent = await openOrder(stack, {}, ['failed']);
  const heard = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(() => settled(heard), 'it is settled');
  await stack.api.cancel(heard);
  expect(await timelineOf(stack, heard)).toHaveLength(3);
  expect(await eventsOf(heard)).toHaveLength(1);
  expect(await eventsOf(silent)).toEqual([]);
});

test('neither history nor the answers hold a secret', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['failed']);
  await until(() => settled(id), 'it is settled');
  const { events } = await stack.client.workflow.getHandle(`order-${id}`).fetchHistory();
  const payloads = JSON.stringify(events, (_key, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString() : value,
  );
  expect(payloads).toContain(id);
  for (const secret of [stack.seller.key, stack.api.checkoutKey, stack.seller.webhookSecret.slice(6)]) {
    expect(payloads).not.toContain(secret);
  }
});
