import { findPendingWebhook, findPendingWebhooks, findWebhookEvent } from '../../../src/db/webhook-events';
import { useDatabase } from '../../support/database';
import { DELIVERED, makeAttempt, orderWithWebhooks } from '../../support/new-attempts';

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
    requestId: null,
    traceparent: null,
    state: 'pending',
    isDisabled: false,
    steps: 0,
    waitMs: null,
    waitedMs: null,
    ageMs: expect.any(Number),
    readAt: expect.any(Date),
    encryptedSecrets: [],
    encryptedHeaders: null,
  });
  expect(await findWebhookEvent(database.db, '00000000-0000-4000-8000-000000000000')).toBeUndefined();
});

test('after a failed attempt, an event has the time until the next one and since the last one', async () => {
  const { ids } = await orderWithWebhooks(database.db, 'signup_started');
  await makeAttempt(database.db, ids[0]!, { at: new Date(Date.now() - 60_000), delayMs: 3_600_000 });
  const { waitMs, waitedMs } = (await findWebhookEvent(database.db, ids[0]!))!;
  expect(waitMs).toBeGreaterThan(3_000_000);
  expect(waitedMs).toBeGreaterThan(50_000);
});

test('pending webhooks are read in the order of their sequence', async () => {
  const { order, ids } = await orderWithWebhooks(database.db, 'signup_started', 'approved', 'completed');
  await makeAttempt(database.db, ids[1]!, DELIVERED);
  expect(await findPendingWebhooks(database.db, order.id)).toEqual([
    { id: ids[0], sequence: 1 },
    { id: ids[2], sequence: 3 },
  ]);
  expect(await findPendingWebhook(database.db, order.id, 3)).toEqual({ id: ids[2], sequence: 3 });
  expect(await findPendingWebhook(database.db, order.id, 2)).toBeNull();
});
