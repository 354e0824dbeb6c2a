import { ApplicationFailure } from '@temporalio/activity';
import pino from 'pino';
import { createWebhookActivities } from '../../../activities/webhook-activities';
import { insertWebhookSecret } from '../../../src/db/secrets';
import { findWebhookEvent } from '../../../src/db/webhook-events';
import { STANDARD_SCHEDULE } from '../../../src/domain/webhook';
import type { OrderEvent } from '../../../src/domain/order';
import { type Attempt, emptyAttempt } from '../../../src/webhooks/send';
import { generateWebhookSecret } from '../../../src/webhooks/sign';
import { NO_KEYS } from '../../support/keys';
import { useDatabase } from '../../support/database';
import { DELIVERED, makeAttempt, orderWithWebhooks } from '../../support/new-attempts';
import { until } from '../../support/until';

const database = useDatabase();

const ERROR_500: Attempt = { ...emptyAttempt(), status: 500, error: 'http_status', errorDetail: 'answered 500' };
const OK: Attempt = { ...emptyAttempt(), status: 200, outcome: 'delivered' };
const GONE: Attempt = { ...emptyAttempt(), status: 410, outcome: 'gone', error: 'http_status' };
const TIMEOUT: Attempt = { ...emptyAttempt(), error: 'timeout' };

let answer: Attempt | Promise<Attempt>;
let sent: string[];
let logged: { webhook_id: string; msg: string }[];
beforeEach(() => {
  answer = OK;
  sent = [];
  logged = [];
});

const createWorker = (attemptsPerSeller = 10, minWaitMs = 60_000) =>
  createWebhookActivities({
    db: database.db,
    keys: NO_KEYS,
    sender: {
      send({ id }) {
        sent.push(id);
        return Promise.resolve(answer);
      },
    },
    schedule: STANDARD_SCHEDULE,
    attemptsPerSeller,
    breaker: { failures: 3, minWaitMs, maxWaitMs: 3_600_000 },
    log: pino({ base: null }, { write: (line) => void logged.push(JSON.parse(line)) }),
  });

/** An order with webhooks that can be signed. Returns the ids of its events. */
async function events(...of: OrderEvent[]) {
  const { order, ids } = await orderWithWebhooks(database.db, ...of);
  await insertWebhookSecret(database.db, NO_KEYS, order.sellerId, generateWebhookSecret());
  return ids as [string, ...string[]];
}

async function failureOf(call: Promise<unknown>): Promise<{ message: string; delayMs: number }> {
  const error: unknown = await call.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApplicationFailure);
  const { message, nextRetryDelay } = error as ApplicationFailure;
  return { message, delayMs: nextRetryDelay as number };
}

/** The webhooks that the log reports as ended. */
const ended = (): string[] =>
  logged.filter(({ msg }) => /is (exhausted|disabled)/.test(msg)).map((line) => line.webhook_id);

test('a delivered webhook ends', async () => {
  const [id] = await events('signup_started');
  expect(await createWorker().sendWebhook(id)).toBe('delivered');
  expect(sent).toEqual([id]);
});

test('a failed attempt fails with the delay of the schedule, without text from the receiver', async () => {
  answer = ERROR_500;
  const [id] = await events('signup_started');
  const { message, delayMs } = await failureOf(createWorker().sendWebhook(id));
  expect(message).toBe('attempt 1: HTTP 500');
  expect(delayMs).toBeGreaterThanOrEqual(4500);
  expect(delayMs).toBeLessThanOrEqual(5500);
});

test('a call that comes before its time makes no attempt, and waits for the rest', async () => {
  const [id] = await events('signup_started');
  await makeAttempt(database.db, id, { delayMs: 3_600_000 });
  const { message, delayMs } = await failureOf(createWorker().sendWebhook(id));
  expect(message).toMatch(/^attempt 1: (HTTP \d{3}|[a-z_]+); the next is not due yet$/);
  expect(delayMs).toBeGreaterThan(3_500_000);
  expect(sent).toEqual([]);
});

test('while a later webhook waits, no wait is longer than an hour after the last attempt', async () => {
  const [id] = await events('signup_started', 'approved');
  await makeAttempt(database.db, id, { at: new Date(Date.now() - 1_800_000), delayMs: 86_400_000 });
  const { delayMs } = await failureOf(createWorker().sendWebhook(id));
  expect(delayMs).toBeGreaterThan(1_700_000);
  expect(delayMs).toBeLessThan(1_900_000);
});

test('a webhook with five failed attempts is given up when a later one waits', async () => {
  const [id] = await events('signup_started', 'approved');
  for (let step = 1; step <= 5; step++) await makeAttempt(database.db, id, { delayMs: 3_600_000 });
  expect(await createWorker().sendWebhook(id)).toBe('exhausted');
  expect([sent, ended()]).toEqual([[], [id]]);
});

test('the last attempt of the schedule exhausts the webhook', async () => {
  answer = ERROR_500;
  const [id] = await events('signup_started');
  for (let step = 1; step <= 9; step++) await makeAttempt(database.db, id, { delayMs: 0 });
  expect(await createWorker().sendWebhook(id)).toBe('exhausted');
});

test('a webhook that has ended is not sent, and an unknown one is missing', async () => {
  const [id] = await events('signup_started');
  await makeAttempt(database.db, id, DELIVERED);
  const worker = createWorker();
  expect(await worker.sendWebhook(id)).toBe('delivered');
  const unknown = '00000000-0000-4000-8000-000000000000';
  expect(await worker.sendWebhook(unknown)).toBe('missing');
  await worker.resendWebhook(unknown);
  expect(sent).toEqual([]);
});

test('a resend is made whatever the state, and its failure is no error', async () => {
  const [id] = await events('signup_started');
  await makeAttempt(database.db, id, DELIVERED);
  answer = ERROR_500;
  await createWorker().resendWebhook(id);
  expect(sent).toEqual([id]);
  expect((await findWebhookEvent(database.db, id))!.state).toBe('delivered');
});

test('a 410 disables the webhook', async () => {
  answer = GONE;
  const [id] = await events('signup_started');
  expect(await createWorker().sendWebhook(id)).toBe('disabled');
});

test('a webhook that was saved while an earlier one got its 410 is disabled, and not sent', async () => {
  const [first, second] = await events('signup_started', 'approved');
  answer = GONE;
  await createWorker().sendWebhook(first);
  // The statement that records the 410 has not seen it.
  await database.db.query("update webhook_event set state = 'pending' where id = $1", [second]);
  expect(await createWorker().sendWebhook(second!)).toBe('disabled');
  expect(sent).toEqual([first]);
  expect(await findWebhookEvent(database.db, second!)).toMatchObject({ state: 'disabled' });
});

test('a seller has as many attempts at a time as it may have, and others are not held up', async () => {
  const worker = createWorker(1);
  const [running] = await events('signup_started');
  const [other] = await events('signup_started');
  let finish: (attempt: Attempt) => void = () => undefined;
  answer = new Promise((resolve) => (finish = resolve));
  const first = worker.sendWebhook(running);
  await until(() => sent.length === 1, 'the attempt has begun');
  await failureOf(worker.resendWebhook(running));
  answer = OK;
  expect(await worker.sendWebhook(other)).toBe('delivered');
  finish(OK);
  expect(await first).toBe('delivered');
});

test('after some attempts without an answer, further webhooks of the endpoint wait, but a requested resend is sent', async () => {
  const worker = createWorker();
  answer = TIMEOUT;
  const [id, other] = await events('signup_started', 'approved');
  for (let count = 0; count < 3; count++) await worker.resendWebhook(id);
  const { message, delayMs } = await failureOf(worker.sendWebhook(other!));
  expect(message).toBe('the endpoint has not answered several attempts in a row');
  expect(delayMs).toBeGreaterThan(50_000);
  answer = OK;
  await worker.resendWebhook(id);
  expect(await worker.sendWebhook(other!)).toBe('delivered');
});

test('an event older than four days no longer waits for its endpoint', async () => {
  const worker = createWorker();
  answer = TIMEOUT;
  const [id, old] = await events('signup_started', 'approved');
  for (let count = 0; count < 3; count++) await worker.resendWebhook(id);
  await database.db.query(`update webhook_event set created_at = now() - interval '5 days' where id = $1`, [old]);
  expect((await failureOf(worker.sendWebhook(old!))).message).toBe('attempt 1: timeout');
});

test('a webhook whose URL was removed, or has answered 410, ends without an attempt, and a resend sends nothing', async () => {
  const worker = createWorker();
  const [id, other] = await events('signup_started', 'approved');
  answer = GONE;
  expect(await worker.sendWebhook(id)).toBe('disabled');
  expect(await worker.sendWebhook(other!)).toBe('disabled');
  const [removed] = await events('signup_started');
  await database.db.query('update orders set webhook_url = null');
  expect(await worker.sendWebhook(removed)).toBe('disabled');
  await worker.resendWebhook(removed);
  expect(sent).toEqual([id]);
  expect(ended()).toEqual([id, other, removed]);
});

test('a delivery that finds no free slot of its seller leaves the probe of the endpoint to the next one', async () => {
  const worker = createWorker(1, 0);
  answer = TIMEOUT;
  const [id, other] = await events('signup_started', 'approved');
  for (let count = 0; count < 3; count++) await worker.resendWebhook(id);
  const setUrl = (url: string) =>
    database.db.query(
      'update orders set webhook_url = $2 where id = (select order_id from webhook_event where id = $1)',
      [id, url],
    );
  const { url } = (await findWebhookEvent(database.db, id))!;
  let finish: (attempt: Attempt) => void = () => undefined;
  answer = new Promise((resolve) => (finish = resolve));
  await setUrl('https://another-endpoint.example');
  const running = worker.resendWebhook(id);
  await until(() => sent.length === 4, 'the attempt has begun');
  await setUrl(url!);
  const { message } = await failureOf(worker.sendWebhook(other!));
  expect(message).toBe('the seller has as many attempts running as it may have');
  finish(OK);
  await running;
  answer = OK;
  expect(await worker.sendWebhook(other!)).toBe('delivered');
});
