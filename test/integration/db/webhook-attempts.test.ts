import { leaseDelivery } from '../../../src/db/delivery-lease';
import { markExhausted } from '../../../src/db/webhook-attempts';
import { findPendingWebhooks, findWebhookEvent, requestResends } from '../../../src/db/webhook-events';
import { useDatabase } from '../../support/database';
import { DELIVERED, GONE, lease, makeAttempt, orderWithWebhooks, record } from '../../support/new-attempts';
import { isInSweep, saveHistory } from '../../support/new-orders';
import { applyEvents } from '../../support/order-histories';

const database = useDatabase();

const attemptsOf = async (eventId: string) =>
  (
    await database.db.query('select attempt, step, status from webhook_attempt where event_id = $1 order by attempt', [
      eventId,
    ])
  ).rows;

describe('an attempt whose lease another attempt has taken over', () => {
  /** An attempt that is thawed while another one makes the same step. */
  async function frozenAttempt() {
    const webhooks = await orderWithWebhooks(database.db, 'signup_started', 'approved');
    const [id] = webhooks.ids as [string];
    const frozen = await lease(database.db, id, 1, 0);
    return { ...webhooks, id, frozen, held: await lease(database.db, id) };
  }

  test('is recorded beside that attempt, and changes neither its step nor its lease', async () => {
    const { id, frozen, held } = await frozenAttempt();
    expect(await record(database.db, id, frozen, { status: 404, state: 'exhausted', delayMs: null })).toMatchObject({
      state: 'pending',
      attempts: 0,
      waitMs: null,
    });
    expect(await leaseDelivery(database.db, id, 1, 60_000)).toBeUndefined();
    expect(await record(database.db, id, held)).toEqual({
      state: 'pending',
      attempts: 1,
      waitMs: 5000,
      waitedMs: expect.any(Number),
      webhooksDisabled: false,
    });
    expect(await attemptsOf(id)).toEqual([
      { attempt: 1, step: null, status: 404 },
      { attempt: 2, step: 1, status: 500 },
    ]);
  });

  test('delivers its event if the receiver accepted it, whatever the other attempt gets', async () => {
    const { id, frozen, held } = await frozenAttempt();
    expect(await record(database.db, id, frozen, DELIVERED)).toMatchObject({ state: 'delivered', waitMs: null });
    expect(await record(database.db, id, held)).toMatchObject({ state: 'delivered', attempts: 1, waitMs: null });
  });

  test('is recorded if the other attempt is recorded already', async () => {
    const { order, id, frozen, held } = await frozenAttempt();
    await record(database.db, id, held, DELIVERED);
    expect(await record(database.db, id, frozen)).toMatchObject({ state: 'delivered', attempts: 1 });
    expect(await attemptsOf(id)).toEqual([
      { attempt: 1, step: 1, status: 200 },
      { attempt: 2, step: null, status: 500 },
    ]);
    expect((await findPendingWebhooks(database.db, order.id)).map(({ sequence }) => sequence)).toEqual([2]);
  });

  test("disables the order's webhooks if it got a 410", async () => {
    const { id, ids, frozen } = await frozenAttempt();
    expect(await record(database.db, id, frozen, GONE)).toMatchObject({ state: 'disabled' });
    expect((await findWebhookEvent(database.db, ids[1]!))?.state).toBe('disabled');
  });
});

describe('a resend', () => {
  test('fulfils the request that it has read, and not one that is made during its attempt', async () => {
    const { ids } = await orderWithWebhooks(database.db, 'signup_started');
    const [id] = ids as [string];
    await makeAttempt(database.db, id, DELIVERED);
    await requestResends(database.db, [id], 60_000);
    const first = await lease(database.db, id, null);
    await requestResends(database.db, [id], 60_000);
    await record(database.db, id, first, { step: null });
    expect((await findWebhookEvent(database.db, id))?.resendRequested).toBe(true);
    await makeAttempt(database.db, id, { step: null });
    expect((await findWebhookEvent(database.db, id))?.resendRequested).toBe(false);
  });

  test('that is requested during an attempt of the schedule is still requested after it', async () => {
    const { ids } = await orderWithWebhooks(database.db, 'signup_started');
    const held = await lease(database.db, ids[0]!);
    await requestResends(database.db, ids, 60_000);
    await record(database.db, ids[0]!, held);
    expect((await findWebhookEvent(database.db, ids[0]!))?.resendRequested).toBe(true);
  });

  test('changes neither the state nor the schedule of its event if it fails', async () => {
    const { ids } = await orderWithWebhooks(database.db, 'signup_started');
    await makeAttempt(database.db, ids[0]!, { delayMs: 3_600_000 });
    await requestResends(database.db, ids, 60_000);
    const after = await makeAttempt(database.db, ids[0]!, { step: null, delayMs: null });
    expect(after).toMatchObject({ state: 'pending', attempts: 1 });
    expect(after.waitMs).toBeGreaterThan(3_500_000);
  });

  test.each(['delivered', 'exhausted'] as const)(
    "of an event that is %s disables the order's webhooks if it gets a 410, later ones too",
    async (state) => {
      const { order, history, ids } = await orderWithWebhooks(database.db, 'signup_started');
      await makeAttempt(database.db, ids[0]!, { ...DELIVERED, state });
      await requestResends(database.db, ids, 60_000);
      await makeAttempt(database.db, ids[0]!, { ...GONE, step: null });
      await saveHistory(database.db, applyEvents(history, 'approved'), 60_000);
      const { rows } = await database.db.query('select state from webhook_event where order_id = $1', [order.id]);
      expect(rows).toEqual([{ state: 'disabled' }, { state: 'disabled' }]);
    },
  );
});

test('after a 410 that disabled two events, one delivered resend is enough for later events to be sent', async () => {
  const { order, history, ids } = await orderWithWebhooks(database.db, 'signup_started', 'approved');
  await makeAttempt(database.db, ids[0]!, GONE);
  await requestResends(database.db, [ids[0]!], 60_000);
  await makeAttempt(database.db, ids[0]!, { ...DELIVERED, step: null });
  await saveHistory(database.db, applyEvents(history, 'completed'), 60_000);
  const { rows } = await database.db.query('select state from webhook_event where order_id = $1 order by sequence', [
    order.id,
  ]);
  expect(rows.map(({ state }) => state)).toEqual(['delivered', 'disabled', 'pending']);
});

test('the times of an attempt are by the clock of Postgres', async () => {
  const { ids } = await orderWithWebhooks(database.db, 'signup_started');
  await makeAttempt(database.db, ids[0]!, { delayMs: 3_600_000 });
  const { rows } = await database.db.query(
    `select a.at between now() - interval '1 minute' and now() as at,
       e.next_attempt_at between now() + interval '59 minutes' and now() + interval '1 hour' as next,
       a.next_attempt_at = e.next_attempt_at as same
     from webhook_event e join webhook_attempt a on a.event_id = e.id where e.id = $1`,
    [ids[0]],
  );
  expect(rows).toEqual([{ at: true, next: true, same: true }]);
});

test('a late attempt does not make an ended event pending again', async () => {
  const { order, ids } = await orderWithWebhooks(database.db, 'signup_started');
  const late = await lease(database.db, ids[0]!, 1, 0);
  await makeAttempt(database.db, ids[0]!, DELIVERED);
  await record(database.db, ids[0]!, late);
  await markExhausted(database.db, ids[0]!);
  expect(await findPendingWebhooks(database.db, order.id)).toEqual([]);
  expect((await findWebhookEvent(database.db, ids[0]!))?.state).toBe('delivered');
});

test('an event that yields to a later one is exhausted and has no next attempt', async () => {
  const { ids } = await orderWithWebhooks(database.db, 'signup_started', 'approved');
  await makeAttempt(database.db, ids[0]!);
  await markExhausted(database.db, ids[0]!);
  expect(await findWebhookEvent(database.db, ids[0]!)).toMatchObject({ state: 'exhausted', attempts: 1, waitMs: null });
});

test.each(['delivered', 'exhausted'] as const)(
  "the sweep's work for a closed order ends once its last webhook is %s, and not before",
  async (state) => {
    const { order, ids } = await orderWithWebhooks(database.db, 'signup_started', 'declined');
    await makeAttempt(database.db, ids[0]!, { ...DELIVERED, state });
    expect(await isInSweep(database.db, order.id)).toBe(true);
    await makeAttempt(database.db, ids[1]!, { ...DELIVERED, state });
    expect(await isInSweep(database.db, order.id)).toBe(false);
  },
);

test("the sweep's work for an open order continues after all its webhooks have ended", async () => {
  const { order, ids } = await orderWithWebhooks(database.db, 'signup_started');
  await makeAttempt(database.db, ids[0]!, DELIVERED);
  expect(await isInSweep(database.db, order.id)).toBe(true);
});

test('a 410 disables all pending events of its order and no events of other orders', async () => {
  const { order, ids } = await orderWithWebhooks(database.db, 'signup_started', 'approved', 'cancel');
  const other = await orderWithWebhooks(database.db, 'signup_started');
  await makeAttempt(database.db, ids[0]!, DELIVERED);
  await makeAttempt(database.db, ids[1]!, GONE);
  const states = await Promise.all(
    [...ids, ...other.ids].map(async (id) => (await findWebhookEvent(database.db, id))?.state),
  );
  expect(states).toEqual(['delivered', 'disabled', 'disabled', 'pending']);
  // No attempt has shown that the workflow knows the last save, so the sweep checks it.
  expect(await isInSweep(database.db, order.id)).toBe(true);
});
