import { type PendingWebhook, findPendingWebhooks, findWebhookEvent } from '../../../src/db/webhook-events';
import { useDatabase } from '../../support/database';
import { makeAttempt, orderWithWebhooks } from './new-attempts';

const database = useDatabase();

test('a webhook event is read with its URL, its body and its state', async () => {
  const { order, ids } = await orderWithWebhooks(database.db, 'signup_started');
  expect(await findWebhookEvent(database.db, ids[0]!)).toEqual({
    id: ids[0],
    url: order.webhookUrl,
    body: expect.stringContaining('"sequence":1'),
    sellerId: order.sellerId,
    orderId: order.id,
    sequence: 1,
    requestId: null,
    traceparent: null,
    state: 'pending',
    attempts: 0,
    waitMs: null,
    waitedMs: 0,
    resendRequested: false,
  });
  expect(await findWebhookEvent(database.db, '00000000-0000-4000-8000-000000000000')).toBeUndefined();
});

test('pending webhooks are read in the order of their sequence, with their attempts', async () => {
  const { order, ids } = await orderWithWebhooks(database.db, 'signup_started', 'approved');
  await makeAttempt(database.db, ids[0]!);
  expect(await findPendingWebhooks(database.db, order.id)).toEqual([
    { id: ids[0], sequence: 1, attempts: 1, waitMs: expect.any(Number), waitedMs: expect.any(Number) },
    { id: ids[1], sequence: 2, attempts: 0, waitMs: null, waitedMs: 0 },
  ]);
  const [{ waitMs, waitedMs }] = (await findPendingWebhooks(database.db, order.id)) as [PendingWebhook];
  expect(waitMs).toBeGreaterThan(0);
  expect(waitMs).toBeLessThanOrEqual(5000);
  expect(waitedMs).toBeLessThan(5000);
});
