import { setTimeout as delay } from 'node:timers/promises';
import pino from 'pino';
import type { Db } from '../../../src/db/pool';
import { requestResends } from '../../../src/db/webhook-events';
import { insertWebhookSecret } from '../../../src/db/secrets';
import { NO_KEYS } from '../../../src/encryption/key-ring';
import { STANDARD_SCHEDULE } from '../../../src/domain/retry-schedule';
import { type Attempt, NOT_SENT, emptyAttempt } from '../../../src/webhooks/attempt';
import { reportAttempt } from '../../../src/telemetry/report';
import { type DeliveryOptions, createDelivery } from '../../../src/webhooks/deliver';
import { DeliveryBusy } from '../../../src/webhooks/delivery-delayed';
import { monotonicMs } from '../../../src/webhooks/monotonic';
import type { WebhookRequest } from '../../../src/webhooks/send';
import { generateWebhookSecret } from '../../../src/webhooks/sign';
import { useDatabase } from '../../support/database';
import { until } from '../../support/until';
import { orderWithWebhooks } from '../../support/new-attempts';

const database = useDatabase('test');

const FAILED: Attempt = { ...emptyAttempt(), status: 500, error: 'http_status', errorDetail: 'answered 500' };
const GONE: Attempt = { ...FAILED, status: 410, outcome: 'gone' };
const DELIVERED: Attempt = { ...emptyAttempt(), status: 200, outcome: 'delivered' };
const REFUSED: Attempt = {
  ...emptyAttempt(),
  ...{
    error: 'dns',
    errorDetail: 'the host name does not lead to a public address',
    operatorDetail: 'leads to 10.0.0.1',
  },
};

/** A delivery whose receiver answers as `respond` does, and what it sent and logged. */
function deliveryTo(
  respond: (request: WebhookRequest) => Promise<Attempt> | Attempt,
  rest: Partial<DeliveryOptions> = {},
) {
  const requests: WebhookRequest[] = [];
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const delivery = createDelivery({
    db: database.db,
    keys: NO_KEYS,
    sender: {
      send: async (request) => {
        requests.push(request);
        return respond(request);
      },
      close: () => Promise.resolve(),
    },
    schedule: STANDARD_SCHEDULE,
    attemptsPerSeller: 10,
    breaker: { failures: 5, minWaitMs: 15_000, maxWaitMs: 300_000 },
    log,
    onAttempt: (recorded) => reportAttempt(log, recorded),
    ...rest,
  });
  return { delivery, requests, lines };
}

async function webhook(): Promise<{ id: string; sellerId: string }> {
  const { order, ids } = await orderWithWebhooks(database.db, 'signup_started');
  await insertWebhookSecret(database.db, NO_KEYS, order.sellerId, generateWebhookSecret());
  return { id: ids[0]!, sellerId: order.sellerId };
}

const first = (eventId: string) => ({ eventId, attempt: 1, hasSuccessor: false });

afterEach(() => jest.useRealTimers());

test.each([
  ['an hour fast', 3_600_000],
  ['an hour slow', -3_600_000],
])('a worker whose clock is %s signs, records and schedules by the clock of Postgres', async (_, offMs) => {
  const { id, sellerId } = await webhook();
  jest.useFakeTimers({ now: Date.now() + offMs, doNotFake: NOT_THE_DATE });
  const { delivery, requests } = deliveryTo(() => FAILED);
  const state = await delivery.send(first(id));
  await delivery.sendTest({ sellerId, webhookId: 'evt_test', url: 'https://shop.example/' }, new Date().toISOString());
  jest.useRealTimers();
  expect(state).toMatchObject({ state: 'pending', attempts: 1 });
  expect(state!.waitMs).toBeGreaterThanOrEqual(4500);
  expect(state!.waitMs).toBeLessThanOrEqual(5500);
  for (const { timestamp } of requests) expect(Math.abs(timestamp - Date.now() / 1000)).toBeLessThan(60);
  const { rows } = await database.db.query(
    `select abs(extract(epoch from a.at - now())) < 60 as at, abs(extract(epoch from e.next_attempt_at - now())) < 60 as next
     from webhook_event e join webhook_attempt a on a.event_id = e.id`,
  );
  expect([requests.length, rows]).toEqual([2, [{ at: true, next: true }]]);
});

const NOT_THE_DATE = [
  ...(['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const),
  ...(['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const),
];

test('an attempt must end before its lease does', async () => {
  const { id } = await webhook();
  const before = monotonicMs();
  const { delivery, requests } = deliveryTo(() => FAILED);
  await delivery.send(first(id));
  expect(requests[0]!.deadlineMs! - before).toBeGreaterThanOrEqual(15_000);
  expect(requests[0]!.deadlineMs! - monotonicMs()).toBeLessThanOrEqual(25_000);
});

test('a delivery lease that took more than five seconds to acquire is released, and nothing is sent', async () => {
  const { id } = await webhook();
  const slow: Db = Object.create(database.db, {
    query: {
      value: async (query: string | { text: string }, values: unknown[]) => {
        const result = await database.db.query(query as string, values);
        const sql = typeof query === 'string' ? query : query.text;
        if (sql.includes('update order_work w set delivery_lease_until')) await delay(5100);
        return result;
      },
    },
  });
  const { delivery, requests } = deliveryTo(() => FAILED, { db: slow });
  await expect(delivery.send(first(id))).rejects.toThrow(DeliveryBusy);
  expect(requests).toHaveLength(0);
  expect(await deliveryTo(() => FAILED).delivery.send(first(id))).toMatchObject({ attempts: 1 });
});

test('an attempt that is not sent, because its lease has ended, is no attempt', async () => {
  const { id } = await webhook();
  const { delivery } = deliveryTo(() => ({ ...emptyAttempt(), ...NOT_SENT }));
  await expect(delivery.send(first(id))).rejects.toThrow(DeliveryBusy);
  await requestResends(database.db, [id], 60_000);
  await expect(delivery.resend(id)).rejects.toThrow(DeliveryBusy);
  const { rows } = await database.db.query(
    `select attempts, resend_requested_at is not null as requested, (select count(*)::int from webhook_attempt) as made
     from webhook_event where id = $1`,
    [id],
  );
  expect(rows).toEqual([{ attempts: 0, requested: true, made: 0 }]);
  expect(await deliveryTo(() => FAILED).delivery.send(first(id))).toMatchObject({ attempts: 1 });
});

test('a test webhook that is sent again has the same content', async () => {
  const { sellerId } = await webhook();
  const { delivery, requests } = deliveryTo(() => FAILED);
  const createdAt = new Date().toISOString();
  for (let count = 0; count < 2; count++) {
    await delivery.sendTest({ sellerId, webhookId: 'evt_test', url: 'https://shop.example/' }, createdAt);
    await delay(5);
  }
  expect(requests[0]!.body).toBe(requests[1]!.body);
});

test('an attempt that outlives its lease does not end the lease of the next one, nor take its step', async () => {
  const { id } = await webhook();
  const receivers: ((attempt: Attempt) => void)[] = [];
  const { delivery } = deliveryTo(() => new Promise((resolve) => void receivers.push(resolve)));
  const frozen = delivery.send(first(id));
  await until(() => receivers.length === 1, 'the first attempt is sent');
  await database.db.query(`update order_work set delivery_lease_until = now() - interval '1 s'`);
  const next = delivery.send(first(id));
  await until(() => receivers.length === 2, 'the second attempt is sent');
  receivers[0]!(FAILED);
  expect(await frozen).toMatchObject({ state: 'pending', attempts: 0 });
  await expect(delivery.send(first(id))).rejects.toThrow(DeliveryBusy);
  receivers[1]!({ ...FAILED, status: 502 });
  expect(await next).toMatchObject({ state: 'pending', attempts: 1 });
  const { rows } = await database.db.query('select step, status from webhook_attempt order by attempt');
  expect(rows).toEqual([
    { step: null, status: 500 },
    { step: 1, status: 502 },
  ]);
});

test('a resend that is requested while another one hangs is made after it', async () => {
  const { id } = await webhook();
  await requestResends(database.db, [id], 60_000);
  const { delivery, requests } = deliveryTo(async () => {
    if (requests.length === 1) await requestResends(database.db, [id], 60_000);
    return FAILED;
  });
  for (let count = 0; count < 3; count++) await delivery.resend(id);
  expect(requests).toHaveLength(2);
});

test('a failed resend of an exhausted webhook does not report again that it is exhausted', async () => {
  const { id } = await webhook();
  await database.db.query(`update webhook_event set state = 'exhausted' where id = $1`, [id]);
  await requestResends(database.db, [id], 60_000);
  const { delivery, lines } = deliveryTo(() => FAILED);
  expect(await delivery.resend(id)).toMatchObject({ state: 'exhausted' });
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ msg: 'a webhook attempt failed', resend: true }]);
});

test('a webhook that a 410 has disabled has an error only after a resend that fails in another way', async () => {
  const { id } = await webhook();
  const answers = [GONE, FAILED];
  const { delivery } = deliveryTo(() => answers.shift()!);
  const disabled = await delivery.send(first(id));
  expect(disabled).toMatchObject({ state: 'disabled' });
  expect(disabled).not.toHaveProperty('lastError');
  await requestResends(database.db, [id], 60_000);
  expect(await delivery.resend(id)).toMatchObject({ state: 'disabled', lastError: 'HTTP 500' });
});

test('a skipped resend of a disabled webhook states whether the webhooks of its order are still disabled', async () => {
  const { order, ids } = await orderWithWebhooks(database.db, 'signup_started', 'approved');
  const [gone, other] = ids as [string, string];
  await insertWebhookSecret(database.db, NO_KEYS, order.sellerId, generateWebhookSecret());
  const answers = [GONE, DELIVERED];
  const { delivery } = deliveryTo(() => answers.shift()!);
  expect(await delivery.send(first(gone))).toMatchObject({ state: 'disabled', webhooksDisabled: true });
  expect(await delivery.resend(other)).toMatchObject({ state: 'disabled', webhooksDisabled: true });
  await requestResends(database.db, [gone], 60_000);
  expect(await delivery.resend(gone)).toMatchObject({ state: 'delivered', webhooksDisabled: false });
  expect(await delivery.resend(other)).toMatchObject({ state: 'disabled', webhooksDisabled: false });
});

test('only the log states the private address to which a host name leads', async () => {
  const { id, sellerId } = await webhook();
  const { delivery, lines } = deliveryTo(() => REFUSED);
  await delivery.send(first(id));
  const shown = await delivery.sendTest(
    { sellerId, webhookId: 'evt_test', url: 'https://inside.example/' },
    new Date().toISOString(),
  );
  expect(shown).toMatchObject({ error: 'dns', errorDetail: REFUSED.errorDetail });
  expect(JSON.stringify(shown)).not.toContain('10.0.0.1');
  const { rows } = await database.db.query('select * from webhook_attempt');
  expect(rows).toMatchObject([{ error: 'dns', error_detail: REFUSED.errorDetail }]);
  expect(JSON.stringify(rows)).not.toContain('10.0.0.1');
  const notSent = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'webhook not sent');
  expect(notSent).toMatchObject([
    { webhook_id: id, seller_id: sellerId, reason: 'leads to 10.0.0.1', msg: 'webhook not sent' },
    { webhook_id: 'evt_test', host: 'inside.example', reason: 'leads to 10.0.0.1' },
  ]);
});
