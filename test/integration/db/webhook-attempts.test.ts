import { endUnsent, findPendingWebhooks, findWebhookEvent } from '../../../src/db/webhook-events';
import { useDatabase } from '../../support/database';
import { DELIVERED, GONE, makeAttempt, orderWithWebhooks } from '../../support/new-attempts';
import { saveChanges } from '../../support/new-orders';
import { applyEvents } from '../../support/domain-orders';

const database = useDatabase();

const attemptsOf = async (webhookId: string) =>
  (
    await database.db.query('select attempt, step, status from webhook_attempt where event_id = $1 order by attempt', [
      webhookId,
    ])
  ).rows;
const statesOf = async (orderId: string) =>
  (
    await database.db.query<{ state: string }>(
      'select state from webhook_event where order_id = $1 order by sequence',
      [orderId],
    )
  ).rows.map(({ state }) => state);

/** A failed resend. */
const RESEND = { isScheduled: false, delayMs: null } as const;

test('attempts are numbered, and those of the schedule have a step', async () => {
  const { ids } = await orderWithWebhooks(database.db, 'signup_started');
  const [id] = ids as [string];
  expect(await makeAttempt(database.db, id)).toBe('pending');
  expect(await makeAttempt(database.db, id, RESEND)).toBe('pending');
  expect(await makeAttempt(database.db, id, DELIVERED)).toBe('delivered');
  expect(await attemptsOf(id)).toEqual([
    { attempt: 1, step: 1, status: 500 },
    { attempt: 2, step: null, status: 500 },
    { attempt: 3, step: 2, status: 200 },
  ]);
});

test('attempts that end at the same time are all recorded', async () => {
  const { ids } = await orderWithWebhooks(database.db, 'signup_started');
  await Promise.all(Array.from({ length: 10 }, () => makeAttempt(database.db, ids[0]!)));
  expect((await attemptsOf(ids[0]!)).map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

describe('an attempt that ends late, in a worker that was frozen', () => {
  test('delivers its event if the receiver accepted it', async () => {
    const { ids } = await orderWithWebhooks(database.db, 'signup_started');
    await makeAttempt(database.db, ids[0]!, { state: 'exhausted', delayMs: null });
    expect(await makeAttempt(database.db, ids[0]!, DELIVERED)).toBe('delivered');
  });

  test('does not make an ended event pending again', async () => {
    const { order, ids } = await orderWithWebhooks(database.db, 'signup_started');
    await makeAttempt(database.db, ids[0]!, DELIVERED);
    expect(await makeAttempt(database.db, ids[0]!)).toBe('delivered');
    expect(await endUnsent(database.db, ids[0]!, 'exhausted')).toBe(false);
    expect(await findPendingWebhooks(database.db, order.id)).toEqual([]);
    // Nor does anything show a next attempt.
    const { rows } = await database.db.query(
      `select e.next_attempt_at is null and bool_and(a.next_attempt_at is null) as "isOver"
       from webhook_event e join webhook_attempt a on a.event_id = e.id where e.id = $1 group by e.id`,
      [ids[0]],
    );
    expect(rows).toEqual([{ isOver: true }]);
  });
});

describe('a resend', () => {
  test('changes neither the state nor the schedule of its event if it fails', async () => {
    const { ids } = await orderWithWebhooks(database.db, 'signup_started');
    await makeAttempt(database.db, ids[0]!, { delayMs: 3_600_000 });
    expect(await makeAttempt(database.db, ids[0]!, RESEND)).toBe('pending');
    const event = (await findWebhookEvent(database.db, ids[0]!))!;
    expect(event.steps).toBe(1);
    expect(event.waitMs).toBeGreaterThan(3_500_000);
  });

  test('that is delivered ends a pending event', async () => {
    const { ids } = await orderWithWebhooks(database.db, 'signup_started');
    await makeAttempt(database.db, ids[0]!, { delayMs: 3_600_000 });
    expect(await makeAttempt(database.db, ids[0]!, { ...DELIVERED, isScheduled: false })).toBe('delivered');
    expect(await findWebhookEvent(database.db, ids[0]!)).toMatchObject({ state: 'delivered', waitMs: null });
  });

  test.each(['delivered', 'exhausted'] as const)(
    "of an event that is %s disables the order's webhooks if it gets a 410, later ones too",
    async (state) => {
      const { order, ids } = await orderWithWebhooks(database.db, 'signup_started');
      await makeAttempt(database.db, ids[0]!, { ...DELIVERED, state });
      await makeAttempt(database.db, ids[0]!, { ...GONE, isScheduled: false });
      const [later] = await saveChanges(database.db, applyEvents(order, 'approved'));
      expect(await statesOf(order.id)).toEqual(['disabled', 'pending']);
      expect(await findWebhookEvent(database.db, later!.id)).toMatchObject({ isDisabled: true });
    },
  );

  test('that is delivered after a 410 is enough for later events to be sent', async () => {
    const { order, ids } = await orderWithWebhooks(database.db, 'signup_started', 'approved');
    await makeAttempt(database.db, ids[0]!, GONE);
    await makeAttempt(database.db, ids[0]!, { ...DELIVERED, isScheduled: false });
    await saveChanges(database.db, applyEvents(order, 'completed'));
    expect(await findWebhookEvent(database.db, ids[1]!)).toMatchObject({ isDisabled: false });
  });
});

test('the time of the next attempt is by the clock of Postgres', async () => {
  const { ids } = await orderWithWebhooks(database.db, 'signup_started');
  await makeAttempt(database.db, ids[0]!, { delayMs: 3_600_000 });
  const { rows } = await database.db.query(
    `select e.next_attempt_at > now() + interval '59 minutes' as late, a.next_attempt_at = e.next_attempt_at as same
     from webhook_event e join webhook_attempt a on a.event_id = e.id where e.id = $1`,
    [ids[0]],
  );
  expect(rows).toEqual([{ late: true, same: true }]);
});

test('an event that yields to a later one is exhausted and has no next attempt', async () => {
  const { ids } = await orderWithWebhooks(database.db, 'signup_started', 'approved');
  await makeAttempt(database.db, ids[0]!);
  expect(await endUnsent(database.db, ids[0]!, 'exhausted')).toBe(true);
  expect(await findWebhookEvent(database.db, ids[0]!)).toMatchObject({ state: 'exhausted', steps: 1, waitMs: null });
});

test('a 410 disables its URL for the pending events of its order and for no events of other orders', async () => {
  const { order, ids } = await orderWithWebhooks(database.db, 'signup_started', 'approved', 'cancel');
  const other = await orderWithWebhooks(database.db, 'signup_started');
  await makeAttempt(database.db, ids[0]!, DELIVERED);
  await makeAttempt(database.db, ids[1]!, GONE);
  expect(await statesOf(order.id)).toEqual(['delivered', 'disabled', 'pending']);
  const isDisabled = async (id: string) => (await findWebhookEvent(database.db, id))!.isDisabled;
  expect([await isDisabled(ids[2]!), await isDisabled(other.ids[0]!)]).toEqual([true, false]);
  // Another URL has not answered 410.
  await database.db.query(
    `update seller set webhook_url = 'https://new.example/', webhook_replaces = '{https://shop.example}' where id = $1`,
    [order.sellerId],
  );
  expect(await isDisabled(ids[2]!)).toBe(false);
});

test('the timeline of an order gets its entries in the order in which they are recorded', async () => {
  const { order, ids } = await orderWithWebhooks(database.db, 'signup_started');
  await Promise.all(Array.from({ length: 5 }, () => makeAttempt(database.db, ids[0]!)));
  const { rows } = await database.db.query<{ attempt: number }>(
    'select attempt from webhook_attempt where event_id = $1 order by position',
    [ids[0]],
  );
  expect(rows.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5]);
  const { rows: first } = await database.db.query<{ before: boolean }>(
    `select (select max(position) from order_timeline where order_id = $1)
       < (select min(position) from webhook_attempt where event_id = $2) as before`,
    [order.id, ids[0]],
  );
  expect(first).toEqual([{ before: true }]);
});

test('pending webhooks are read in the order of their sequence', async () => {
  const { order, ids } = await orderWithWebhooks(database.db, 'signup_started', 'approved', 'completed');
  await makeAttempt(database.db, ids[1]!, DELIVERED);
  expect(await findPendingWebhooks(database.db, order.id)).toEqual([
    { id: ids[0], sequence: 1 },
    { id: ids[2], sequence: 3 },
  ]);
});
