import { exhaustWebhook, recordAttempt } from '../../../src/db/webhook-attempts';
import { findPendingWebhooks, findWebhookEvent } from '../../../src/db/webhook-events';
import { useDatabase } from '../../support/database';
import { DELIVERED, attempt, orderWithWebhooks } from './new-attempts';
import { isInSweep } from './new-orders';

const database = useDatabase();

describe('an attempt that is recorded already', () => {
  const statusesOf = async (eventId: string) =>
    (await database.db.query('select status from webhook_attempt where event_id = $1', [eventId])).rows.map(
      ({ status }) => status,
    );

  test('keeps its record, and its event keeps its state', async () => {
    const { ids } = await orderWithWebhooks(database.db, 'signup_started');
    await recordAttempt(database.db, attempt(ids[0]!));
    const repeated = attempt(ids[0]!, { status: 404, state: 'exhausted', nextAttemptAt: null });
    const { nextAttemptAt } = attempt(ids[0]!);
    expect(await recordAttempt(database.db, repeated)).toEqual({ state: 'pending', attempts: 1, nextAttemptAt });
    expect(await statusesOf(ids[0]!)).toEqual([500]);
  });

  test('keeps its record, but its event becomes delivered if a repeated run delivered it', async () => {
    const { order, ids } = await orderWithWebhooks(database.db, 'signup_started');
    await recordAttempt(database.db, attempt(ids[0]!));
    const state = await recordAttempt(database.db, attempt(ids[0]!, DELIVERED));
    expect(state).toEqual({ state: 'delivered', attempts: 1, nextAttemptAt: null });
    expect(await statusesOf(ids[0]!)).toEqual([500]);
    expect(await findPendingWebhooks(database.db, order.id)).toEqual([]);
  });
});

test('a late attempt does not make a settled event pending again', async () => {
  const { order, ids } = await orderWithWebhooks(database.db, 'signup_started');
  await recordAttempt(database.db, attempt(ids[0]!, DELIVERED));
  await recordAttempt(database.db, attempt(ids[0]!, { step: 2 }));
  await exhaustWebhook(database.db, ids[0]!);
  expect(await findPendingWebhooks(database.db, order.id)).toEqual([]);
  expect((await findWebhookEvent(database.db, ids[0]!))?.state).toBe('delivered');
});

test('an event that yields to a later one is exhausted and has no next attempt', async () => {
  const { ids } = await orderWithWebhooks(database.db, 'signup_started', 'approved');
  await recordAttempt(database.db, attempt(ids[0]!));
  await exhaustWebhook(database.db, ids[0]!);
  expect(await findWebhookEvent(database.db, ids[0]!)).toMatchObject({
    state: 'exhausted',
    attempts: 1,
    nextAttemptAt: null,
  });
});

test.each(['delivered', 'exhausted'] as const)(
  "the sweep's work for a closed order ends once its last webhook is %s, and not before",
  async (state) => {
    const { order, ids } = await orderWithWebhooks(database.db, 'signup_started', 'declined');
    await recordAttempt(database.db, attempt(ids[0]!, { ...DELIVERED, state }));
    expect(await isInSweep(database.db, order.id)).toBe(true);
    await recordAttempt(database.db, attempt(ids[1]!, { ...DELIVERED, state }));
    expect(await isInSweep(database.db, order.id)).toBe(false);
  },
);

test("the sweep's work for an open order continues after all its webhooks are settled", async () => {
  const { order, ids } = await orderWithWebhooks(database.db, 'signup_started');
  await recordAttempt(database.db, attempt(ids[0]!, DELIVERED));
  expect(await isInSweep(database.db, order.id)).toBe(true);
});

test('a 410 disables all pending events of its order and no events of other orders', async () => {
  const { order, ids } = await orderWithWebhooks(database.db, 'signup_started', 'approved', 'cancel');
  const other = await orderWithWebhooks(database.db, 'signup_started');
  await recordAttempt(database.db, attempt(ids[0]!, DELIVERED));
  await recordAttempt(database.db, attempt(ids[1]!, { status: 410, state: 'disabled', nextAttemptAt: null }));
  const states = await Promise.all(
    [...ids, ...other.ids].map(async (id) => (await findWebhookEvent(database.db, id))?.state),
  );
  expect(states).toEqual(['delivered', 'disabled', 'disabled', 'pending']);
  expect(await isInSweep(database.db, order.id)).toBe(false);
});
