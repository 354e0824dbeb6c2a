import pino from 'pino';
import { readTimeline } from '../../../src/db/read-timeline';
import { insertWebhookSecret } from '../../../src/db/secrets';
import { NO_KEYS } from '../../../src/encryption/key-ring';
import { countUnanswered, deleteAbandonedBreakers } from '../../../src/db/endpoint-breaker';
import { requestResends } from '../../../src/db/webhook-events';
import { STANDARD_SCHEDULE } from '../../../src/domain/retry-schedule';
import { type Attempt, emptyAttempt } from '../../../src/webhooks/attempt';
import { createDelivery } from '../../../src/webhooks/deliver';
import { DeliveryBusy, DeliveryWaits } from '../../../src/webhooks/delivery-delayed';
import { generateWebhookSecret } from '../../../src/webhooks/sign';
import { useDatabase } from '../../support/database';
import { until } from '../../support/until';
import { lease, orderWithWebhooks } from '../../support/new-attempts';

const database = useDatabase('test');

const TIMEOUT: Attempt = { ...emptyAttempt(), error: 'timeout', errorDetail: 'no answer within 15000 ms' };
const ERROR_500: Attempt = { ...emptyAttempt(), status: 500, error: 'http_status', errorDetail: 'answered 500' };
const OK: Attempt = { ...emptyAttempt(), status: 200, outcome: 'delivered' };

let answer: Attempt | Promise<Attempt>;
let sent: string[];
let lines: string[];
beforeEach(() => {
  answer = TIMEOUT;
  sent = [];
  lines = [];
});

/** Keeps the lines about endpoints. */
function keepLine(line: string): void {
  if (line.includes('endpoint')) lines.push(line);
}

/** A delivery as a worker has it. All share the database. */
const createWorker = () =>
  createDelivery({
    db: database.db,
    keys: NO_KEYS,
    sender: {
      send: async ({ id }) => {
        sent.push(id);
        return answer;
      },
      close: () => Promise.resolve(),
    },
    schedule: STANDARD_SCHEDULE,
    attemptsPerSeller: 10,
    // The breaker of a test probes only when the test makes its probe due.
    breaker: { failures: 3, minWaitMs: 60_000, maxWaitMs: 60_000 },
    log: pino({ level: 'info', timestamp: false, base: null }, { write: keepLine }),
    onAttempt: () => undefined,
  });

type Worker = ReturnType<typeof createWorker>;

/** Orders of one seller, each with a pending webhook. */
async function pendingWebhooks(count: number): Promise<{ id: string; orderId: string; sellerId: string }[]> {
  const first = await orderWithWebhooks(database.db, 'signup_started');
  const { sellerId } = first.order;
  await insertWebhookSecret(database.db, NO_KEYS, sellerId, generateWebhookSecret());
  const others = await Promise.all(
    Array.from({ length: count - 1 }, async () => {
      const other = await orderWithWebhooks(database.db, 'signup_started');
      for (const [table, key] of [
        ['orders', 'id'],
        ['webhook_event', 'order_id'],
      ] as const) {
        await database.db.query(`update ${table} set seller_id = $2 where ${key} = $1`, [other.order.id, sellerId]);
      }
      return other;
    }),
  );
  return [first, ...others].map(({ order, ids }) => ({ id: ids[0]!, orderId: order.id, sellerId }));
}

const send = (worker: Worker, { id }: { id: string }) => worker.send({ eventId: id, attempt: 1, hasSuccessor: false });

const stateOf = async ({ id }: { id: string }) =>
  (
    await database.db.query<{ state: string; attempts: number; next: Date | null }>(
      'select state, attempts, next_attempt_at as next from webhook_event where id = $1',
      [id],
    )
  ).rows[0]!;

/** Makes the breaker open, with attempts in both workers. Returns the webhooks that are left. */
async function open(workers: Worker[], count: number) {
  const webhooks = await pendingWebhooks(count + 3);
  for (const [index, webhook] of webhooks.slice(0, 3).entries()) await send(workers[index % workers.length]!, webhook);
  expect(sent).toHaveLength(3);
  return webhooks.slice(3);
}

const makeProbeDue = () => database.db.query('update endpoint_breaker set probe_at = now()');

test('after three attempts without an answer, in two workers, the deliveries of both wait and use up no attempt', async () => {
  const workers = [createWorker(), createWorker()];
  const waiting = await open(workers, 2);
  for (const [index, webhook] of waiting.entries()) {
    const error = await send(workers[index]!, webhook).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DeliveryWaits);
    expect((error as Error).message).toMatch(/^the endpoint has not answered since \d{4}-/);
    expect(await stateOf(webhook)).toEqual({ state: 'pending', attempts: 0, next: expect.any(Date) });
  }
  expect(sent).toHaveLength(3);
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      level: 40,
      seller_id: waiting[0]!.sellerId,
      endpoint: 'https://shop.example',
      error: 'timeout',
      silent_since: expect.any(String),
      failures: 3,
      next_probe_at: expect.any(String),
      msg: 'webhook endpoint does not answer: its deliveries wait',
    },
  ]);
});

test('a delivery that is days old does not wait, so that it ends even if the endpoint stays silent', async () => {
  const workers = [createWorker()];
  const [old] = await open(workers, 1);
  await database.db.query(`update webhook_event set created_at = now() - interval '5 days' where id = $1`, [old!.id]);
  await send(workers[0]!, old!);
  expect(sent).toHaveLength(4);
  expect(await stateOf(old!)).toMatchObject({ state: 'pending', attempts: 1 });
});

test('one delivery probes the endpoint when it is due, however many try in two workers at the same time', async () => {
  const workers = [createWorker(), createWorker()];
  const waiting = await open(workers, 8);
  await makeProbeDue();
  const results = await Promise.allSettled(waiting.map((webhook, index) => send(workers[index % 2]!, webhook)));
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(sent).toHaveLength(4);
  // The probe failed: the others wait for the next one.
  await expect(
    send(
      workers[0]!,
      waiting.find(({ id }) => id !== sent[3])!,
    ),
  ).rejects.toThrow(DeliveryWaits);
  expect(lines).toHaveLength(1);
});

test('the first answer closes the breaker, even an error', async () => {
  const workers = [createWorker(), createWorker()];
  const waiting = await open(workers, 3);
  await makeProbeDue();
  answer = ERROR_500;
  expect(await send(workers[1]!, waiting[0]!)).toMatchObject({ state: 'pending', attempts: 1 });
  answer = OK;
  expect(await send(workers[0]!, waiting[1]!)).toMatchObject({ state: 'delivered' });
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
    'webhook endpoint does not answer: its deliveries wait',
    'webhook endpoint answers again',
  ]);
  expect((await database.db.query('select from endpoint_breaker')).rowCount).toBe(0);
});

test('answers that are not valid HTTP are answers: the breaker stays closed', async () => {
  const worker = createWorker();
  answer = { ...emptyAttempt(), error: 'invalid_response', errorDetail: 'the response is not valid HTTP' };
  for (const webhook of await pendingWebhooks(4)) await send(worker, webhook);
  expect(sent).toHaveLength(4);
  expect(lines).toEqual([]);
});

test('an answer between the failures starts the count again', async () => {
  const worker = createWorker();
  const webhooks = await pendingWebhooks(6);
  for (const [index, webhook] of webhooks.entries()) {
    answer = index === 2 ? ERROR_500 : TIMEOUT;
    if (index < 5) await send(worker, webhook);
  }
  expect(sent).toHaveLength(5);
  expect(lines).toEqual([]);
});

test('failures of the service itself do not count as failures of the endpoint', async () => {
  const worker = createWorker();
  answer = { ...TIMEOUT, error: 'interrupted' };
  for (const webhook of await pendingWebhooks(4)) await send(worker, webhook);
  expect(sent).toHaveLength(4);
});

test('each waiting delivery gets a turn of its own, so that their checks are no more than four a second', async () => {
  const worker = createWorker();
  const waiting = await open([worker], 8);
  const waits: number[] = [];
  for (const webhook of waiting) {
    await send(worker, webhook).catch((error: unknown) => waits.push((error as DeliveryWaits).waitMs + Date.now()));
  }
  expect(waits).toHaveLength(8);
  expect(waits[7]! - waits[0]!).toBeGreaterThan(7 * 250 - 200);
});

test('the timeline states once per order and outage that its webhooks wait', async () => {
  const worker = createWorker();
  const [webhook] = await open([worker], 1);
  for (let count = 0; count < 3; count++) await expect(send(worker, webhook!)).rejects.toThrow(DeliveryWaits);
  const timeline = await readTimeline(database.db, webhook!.orderId, undefined, 10);
  expect(timeline.map(({ changeOrNote }) => changeOrNote?.event)).toEqual([
    'created',
    'signup_started',
    'webhook_waits',
  ]);
  expect(timeline[2]!.changeOrNote).toMatchObject({
    version: null,
    actor: 'system',
    reason: expect.stringMatching(/^https:\/\/shop\.example has not answered since/),
  });
});

test('a requested resend probes the endpoint within seconds, before the deliveries that wait', async () => {
  const worker = createWorker();
  const waiting = await open([worker], 3);
  for (const webhook of waiting.slice(1)) await send(worker, webhook).catch(() => undefined);
  const { id } = waiting[0]!;
  await requestResends(database.db, [id], 60_000);
  // Only a moment ago an attempt failed.
  const error: unknown = await worker.resend(id).catch((thrown: unknown) => thrown);
  expect((error as DeliveryWaits).waitMs).toBeLessThanOrEqual(5000);
  await database.db.query(
    `update endpoint_breaker set resend_probe_at = now(), probe_at = now() + interval '1 minute'`,
  );
  answer = OK;
  expect(await worker.resend(id)).toMatchObject({ state: 'delivered' });
  expect(sent.at(-1)).toBe(id);
});

test('a bulk resend waits like any other delivery', async () => {
  const worker = createWorker();
  const waiting = await open([worker], 25);
  await requestResends(
    database.db,
    waiting.map(({ id }) => id),
    60_000,
  );
  await database.db.query(
    `update endpoint_breaker set resend_probe_at = now(), probe_at = now() + interval '1 minute'`,
  );
  const error: unknown = await worker.resend(waiting[0]!.id).catch((thrown: unknown) => thrown);
  expect((error as DeliveryWaits).waitMs).toBeGreaterThan(50_000);
  expect(sent).toHaveLength(3);
});

test('a delivery that cannot send its probe leaves the probe to another delivery', async () => {
  const worker = createWorker();
  const waiting = await open([worker], 2);
  await makeProbeDue();
  await lease(database.db, waiting[0]!.id);
  await expect(send(worker, waiting[0]!)).rejects.toThrow(DeliveryBusy);
  answer = OK;
  expect(await send(worker, waiting[1]!)).toMatchObject({ state: 'delivered' });
});

test('a probe that the service interrupts leaves the probe to another delivery', async () => {
  const worker = createWorker();
  const waiting = await open([worker], 2);
  await makeProbeDue();
  answer = { ...TIMEOUT, error: 'interrupted' };
  await send(worker, waiting[0]!);
  answer = OK;
  expect(await send(worker, waiting[1]!)).toMatchObject({ state: 'delivered' });
});

test('the breaker of an endpoint that nothing was sent to for days is deleted', async () => {
  const worker = createWorker();
  await open([worker], 0);
  await deleteAbandonedBreakers(database.db);
  const count = async () => (await database.db.query('select from endpoint_breaker')).rowCount;
  expect(await count()).toBe(1);
  await database.db.query(
    `update endpoint_breaker set since = since - interval '8 days', probe_at = probe_at - interval '8 days',
       resend_probe_at = resend_probe_at - interval '8 days'`,
  );
  await deleteAbandonedBreakers(database.db);
  expect(await count()).toBe(0);
});

test('a resend of a pending webhook that waits, and then fails, does not change the schedule', async () => {
  const worker = createWorker();
  const waiting = await open([worker], 25);
  const [webhook] = waiting as [(typeof waiting)[0]];
  await database.db.query(
    `update webhook_event set attempts = 1, next_attempt_at = now() + interval '1 hour' where id = $1`,
    [webhook.id],
  );
  const { next } = await stateOf(webhook);
  await requestResends(
    database.db,
    waiting.map(({ id }) => id),
    60_000,
  );
  await expect(worker.resend(webhook.id)).rejects.toThrow(DeliveryWaits);
  expect((await stateOf(webhook)).next).toEqual(next);
  await makeProbeDue();
  answer = ERROR_500;
  expect(await worker.resend(webhook.id)).toMatchObject({ state: 'pending', attempts: 1 });
  expect(await stateOf(webhook)).toEqual({ state: 'pending', attempts: 1, next });
});

test('a resend that waits postpones the next attempt of its order, so that it is not overdue', async () => {
  const worker = createWorker();
  const [webhook] = await open([worker], 1);
  await database.db.query(
    `insert into webhook_event (id, order_id, seller_id, sequence, body, resend_requested_at)
     select gen_random_uuid(), order_id, seller_id, 2, body, now() from webhook_event where id = $1`,
    [webhook!.id],
  );
  const { rows } = await database.db.query<{ id: string }>(
    'select id from webhook_event where order_id = $1 and sequence = 2',
    [webhook!.orderId],
  );
  await expect(worker.resend(rows[0]!.id)).rejects.toThrow(DeliveryWaits);
  expect([(await stateOf(webhook!)).next, (await stateOf(rows[0]!)).next]).toEqual([expect.any(Date), null]);
});

test('a test webhook that is answered ends the wait', async () => {
  const worker = createWorker();
  const [webhook] = await open([worker], 1);
  answer = OK;
  await worker.sendTest(
    { sellerId: webhook!.sellerId, webhookId: 'evt_test', url: 'https://Shop.example/test' },
    new Date().toISOString(),
  );
  expect(await send(worker, webhook!)).toMatchObject({ state: 'delivered' });
});

test('if a worker dies during its probe, another delivery probes the endpoint later', async () => {
  const workers = [createWorker(), createWorker()];
  const waiting = await open(workers, 2);
  await makeProbeDue();
  answer = new Promise(() => undefined);
  void send(workers[0]!, waiting[0]!);
  await until(() => sent.length === 4, 'the probe is sent');
  answer = OK;
  await expect(send(workers[1]!, waiting[1]!)).rejects.toThrow(DeliveryWaits);
  await database.db.query(`update endpoint_breaker set probe_at = probe_at - interval '31 s'`);
  expect(await send(workers[1]!, waiting[1]!)).toMatchObject({ state: 'delivered' });
});

test.each([
  ['throws', (): Promise<Attempt> => Promise.reject(new Error('Postgres is unavailable'))],
  ['gets no answer', (): Promise<Attempt> => Promise.resolve(TIMEOUT)],
  ['is interrupted', (): Promise<Attempt> => Promise.resolve({ ...TIMEOUT, error: 'interrupted' })],
])('a probe that outlives its lease and then %s leaves the lease to its successor', async (_, end) => {
  const workers = [createWorker(), createWorker()];
  const [first, second] = await open(workers, 2);
  await makeProbeDue();
  let endFirst: (attempt: Promise<Attempt>) => void = () => undefined;
  answer = new Promise((resolve) => (endFirst = resolve));
  const firstProbe = send(workers[0]!, first!).catch(() => undefined);
  await until(() => sent.length === 4, 'the first probe is sent');
  await makeProbeDue();
  answer = new Promise(() => undefined);
  void send(workers[1]!, second!);
  await until(() => sent.length === 5, 'the second probe is sent');
  const heldLease = async () =>
    (
      await database.db.query<{ at: string; resendAt: string }>(
        'select probe_at::text as at, resend_probe_at::text as "resendAt" from endpoint_breaker',
      )
    ).rows[0];
  const leased = await heldLease();
  endFirst(end());
  await firstProbe;
  expect(await heldLease()).toEqual(leased);
});

test('while a probe runs, deliveries and urgent resends wait for five seconds at most', async () => {
  const worker = createWorker();
  const [probe, delivery, resend] = await open([worker], 3);
  await makeProbeDue();
  answer = new Promise(() => undefined);
  void send(worker, probe!);
  await until(() => sent.length === 4, 'the probe is sent');
  // An attempt from before the breaker opened ends.
  const options = { failures: 3, minWaitMs: 60_000, maxWaitMs: 3_600_000 };
  const endpoint = { sellerId: probe!.sellerId, origin: 'https://shop.example' };
  await countUnanswered(database.db, endpoint, options, new Date(), undefined);
  await requestResends(database.db, [resend!.id], 60_000);
  for (const attempt of [() => send(worker, delivery!), () => worker.resend(resend!.id)]) {
    const error: unknown = await attempt().catch((thrown: unknown) => thrown);
    expect((error as DeliveryWaits).waitMs).toBeLessThanOrEqual(5000);
  }
  expect(sent).toHaveLength(4);
});
