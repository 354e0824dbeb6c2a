import {
  type PendingWebhook,
  findPendingWebhooks,
  findWebhookEvent,
  requestResends,
} from '../../../src/db/webhook-events';
import { useDatabase } from '../../support/database';
import { makeAttempt, orderWithWebhooks } from '../../support/new-attempts';

const database = useDatabase();

test('a webhook event is read with its URL, its body and its state', async () => {
  const { order, ids } = await orderWithWebhooks(database.db, 'signup_started');
  expect(await findWebhookEvent(database.db, ids[0]!)).toEqual({
    id: ids[0],
    url: order.webhookUrl,
    body: expect.stringContaining('"sequence":1'),
    orderId: order.id,
    sellerId: order.sellerId,
    sequence: 1,
    origin: 'https://shop.example',
    requestId: null,
    traceparent: null,
    state: 'pending',
    attempts: 0,
    waitMs: null,
    waitedMs: 0,
    encryptedSecrets: [],
    ...{ resendRequested: false, resendUrgent: false },
    webhooksDisabled: false,
    ...{ hasUnansweredAttempts: false, isBreakerOpen: false, probeDue: false, urgentProbeDue: false },
  });
  expect(await findWebhookEvent(database.db, '00000000-0000-4000-8000-000000000000')).toBeUndefined();
});

test('pending webhooks are read in the order of their sequence, with their attempts', async () => {
  const { order, ids } = await orderWithWebhooks(database.db, 'signup_started', 'approved');
  await makeAttempt(database.db, ids[0]!, { delayMs: 3_600_000 });
  expect(await findPendingWebhooks(database.db, order.id)).toEqual([
    { id: ids[0], sequence: 1, attempts: 1, waitMs: expect.any(Number), waitedMs: expect.any(Number) },
    { id: ids[1], sequence: 2, attempts: 0, waitMs: null, waitedMs: 0 },
  ]);
  const [{ waitMs, waitedMs }] = (await findPendingWebhooks(database.db, order.id)) as [PendingWebhook];
  expect(waitMs).toBeGreaterThan(0);
  expect(waitMs).toBeLessThanOrEqual(3_600_000);
  expect(waitedMs).toBeLessThan(60_000);
});

test('the sweep passes on a bulk resend with a gap between two orders', async () => {
  const orders = await Promise.all(Array.from({ length: 3 }, () => orderWithWebhooks(database.db, 'signup_started')));
  const events = orders.flatMap(({ ids }) => ids);
  await requestResends(database.db, events, 1000, 500);
  const { rows } = await database.db.query<{ ms: number }>(
    `select extract(epoch from w.sweep_at - e.resend_requested_at)::float8 * 1000 as ms
     from order_work w join webhook_event e on e.order_id = w.order_id where e.id = any($1) order by w.sweep_at`,
    [events],
  );
  expect(rows.map(({ ms }) => Math.round(ms))).toEqual([1000, 1500, 2000]);
});

describe('a requested resend', () => {
  /** Webhook events of one seller. */
  async function eventsOfSeller(count: number): Promise<string[]> {
    const orders = await Promise.all(
      Array.from({ length: count }, () => orderWithWebhooks(database.db, 'signup_started')),
    );
    const events = orders.flatMap(({ ids }) => ids);
    const { sellerId } = orders[0]!.order;
    await database.db.query('update webhook_event set seller_id = $2 where id = any($1)', [events, sellerId]);
    return events;
  }
  const countUrgent = async (events: string[]) =>
    (await database.db.query('select from webhook_event where resend_urgent and id = any($1)', [events])).rowCount;

  test('is urgent if it is one of the first twenty of its seller', async () => {
    const events = await eventsOfSeller(22);
    for (const id of events) await requestResends(database.db, [id], 60_000);
    expect(await countUrgent(events)).toBe(20);
  });

  test('is not urgent if its group takes its seller beyond twenty', async () => {
    const events = await eventsOfSeller(40);
    await requestResends(database.db, events.slice(0, 19), 60_000);
    await requestResends(database.db, events.slice(19, 38), 60_000);
    expect(await countUrgent(events)).toBe(19);
  });

  test('stays urgent if it is requested again', async () => {
    const events = await eventsOfSeller(25);
    await requestResends(database.db, [events[0]!], 60_000);
    await requestResends(database.db, events.slice(1), 60_000);
    await requestResends(database.db, [events[0]!], 60_000);
    expect(await countUrgent(events)).toBe(1);
  });
});
