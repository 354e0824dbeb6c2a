import type { Db } from '../../../src/db/pool';
import { leaseDelivery } from '../../../src/db/order-work';
import { type AttemptRecord, exhaustWebhook, recordAttempt } from '../../../src/db/webhook-attempts';
import { findPendingWebhooks, findWebhookEvent } from '../../../src/db/webhook-events';
import type { OrderEvent } from '../../../src/domain/status';
import { type TestDatabase, createDatabase } from '../../support/database';
import { go, insertedOrder, saveHistory, sweptIn } from './new-orders';

let database: TestDatabase;
let db: Db;
beforeAll(async () => {
  database = await createDatabase();
  db = database.db;
});
afterAll(() => database.drop());

/** An order that went through these events, and the ids of its webhooks. */
async function orderWith(...events: OrderEvent[]) {
  const history = go(await insertedOrder(db), ...events);
  const pending = await saveHistory(db, history, 60_000);
  return { order: history.order, ids: pending.map(({ id }) => id) };
}

const attempt = (eventId: string, rest: Partial<AttemptRecord> = {}): AttemptRecord => ({
  eventId,
  step: 1,
  at: new Date(),
  durationMs: 12,
  connectedMs: 3,
  headersMs: 11,
  status: 500,
  error: 'http_status',
  errorDetail: null,
  address: '203.0.113.7',
  responseBody: 'sorry',
  state: 'pending',
  nextAttemptAt: new Date('2026-03-01T10:00:05.000Z'),
  ...rest,
});
const delivered = { status: 200, error: null, state: 'delivered', nextAttemptAt: null } as const;
const isSwept = async (id: string) => (await sweptIn(db, id)) !== null;

test('an attempt is told where its event goes, what it says, and how it stands', async () => {
  const { order, ids } = await orderWith('signup_started');
  expect(await findWebhookEvent(db, ids[0]!)).toEqual({
    id: ids[0],
    url: order.webhookUrl,
    body: expect.stringContaining('"sequence":1'),
    sellerId: order.sellerId,
    state: 'pending',
    attempts: 0,
    nextAttemptAt: null,
    resendRequested: false,
  });
  expect(await findWebhookEvent(db, '00000000-0000-4000-8000-000000000000')).toBeUndefined();
});

test('what is pending is told in the order in which it is sent, with its attempts', async () => {
  const { order, ids } = await orderWith('signup_started', 'approved');
  await recordAttempt(db, attempt(ids[0]!));
  expect(await findPendingWebhooks(db, order.id)).toEqual([
    { id: ids[0], sequence: 1, attempts: 1, nextAttemptAt: '2026-03-01T10:00:05.000Z' },
    { id: ids[1], sequence: 2, attempts: 0, nextAttemptAt: null },
  ]);
});

describe('an attempt that is written already', () => {
  const statusesOf = async (eventId: string) =>
    (await db.query('select status from webhook_attempt where event_id = $1', [eventId])).rows.map(
      ({ status }) => status,
    );

  test('stays as it is, and so does its event', async () => {
    const { ids } = await orderWith('signup_started');
    await recordAttempt(db, attempt(ids[0]!));
    const late = attempt(ids[0]!, { status: 404, state: 'exhausted', nextAttemptAt: null });
    const { nextAttemptAt } = attempt(ids[0]!);
    expect(await recordAttempt(db, late)).toEqual({ state: 'pending', attempts: 1, nextAttemptAt });
    expect(await statusesOf(ids[0]!)).toEqual([500]);
  });

  test('stays as it is, but that the event was delivered is kept', async () => {
    const { order, ids } = await orderWith('signup_started');
    await recordAttempt(db, attempt(ids[0]!));
    const kept = await recordAttempt(db, attempt(ids[0]!, delivered));
    expect(kept).toEqual({ state: 'delivered', attempts: 1, nextAttemptAt: null });
    expect(await statusesOf(ids[0]!)).toEqual([500]);
    expect(await findPendingWebhooks(db, order.id)).toEqual([]);
  });
});

test('an event that is settled is not pending again by a late attempt', async () => {
  const { order, ids } = await orderWith('signup_started');
  await recordAttempt(db, attempt(ids[0]!, delivered));
  await recordAttempt(db, attempt(ids[0]!, { step: 2 }));
  await exhaustWebhook(db, ids[0]!);
  expect(await findPendingWebhooks(db, order.id)).toEqual([]);
  expect((await findWebhookEvent(db, ids[0]!))?.state).toBe('delivered');
});

test('an event that gave way is exhausted, and has no next attempt', async () => {
  const { ids } = await orderWith('signup_started', 'approved');
  await recordAttempt(db, attempt(ids[0]!));
  await exhaustWebhook(db, ids[0]!);
  expect(await findWebhookEvent(db, ids[0]!)).toMatchObject({ state: 'exhausted', attempts: 1, nextAttemptAt: null });
});

test.each(['delivered', 'exhausted'] as const)(
  'the sweep is done with a closed order once its last webhook is %s, and not before',
  async (state) => {
    const { order, ids } = await orderWith('signup_started', 'declined');
    await recordAttempt(db, attempt(ids[0]!, { ...delivered, state }));
    expect(await isSwept(order.id)).toBe(true);
    await recordAttempt(db, attempt(ids[1]!, { ...delivered, state }));
    expect(await isSwept(order.id)).toBe(false);
  },
);

test('an endpoint that is gone ends all that its order still has to send, and only that', async () => {
  const { order, ids } = await orderWith('signup_started', 'approved', 'cancel');
  const other = await orderWith('signup_started');
  await recordAttempt(db, attempt(ids[0]!, delivered));
  await recordAttempt(db, attempt(ids[1]!, { status: 410, state: 'disabled', nextAttemptAt: null }));
  const states = await Promise.all([...ids, ...other.ids].map(async (id) => (await findWebhookEvent(db, id))?.state));
  expect(states).toEqual(['delivered', 'disabled', 'disabled', 'pending']);
  expect(await isSwept(order.id)).toBe(false);
});

describe('a claim to make an attempt', () => {
  test('is had by one, until the attempt is written', async () => {
    const { ids } = await orderWith('signup_started', 'approved');
    const claims = await Promise.all(Array.from({ length: 10 }, () => leaseDelivery(db, ids[0]!, 1, 60_000)));
    expect(claims.filter(Boolean)).toHaveLength(1);
    expect(await leaseDelivery(db, ids[1]!, 1, 60_000)).toBe(false);
    await recordAttempt(db, attempt(ids[0]!));
    expect(await leaseDelivery(db, ids[0]!, 2, 60_000)).toBe(true);
  });

  test('lapses', async () => {
    const { ids } = await orderWith('signup_started');
    expect(await leaseDelivery(db, ids[0]!, 1, 100)).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(await leaseDelivery(db, ids[0]!, 1, 100)).toBe(true);
  });

  test('is not had to an attempt that was made, or to an event that is settled', async () => {
    const { ids } = await orderWith('signup_started');
    await recordAttempt(db, attempt(ids[0]!));
    expect(await leaseDelivery(db, ids[0]!, 1, 60_000)).toBe(false);
    await recordAttempt(db, attempt(ids[0]!, { ...delivered, step: 2 }));
    expect(await leaseDelivery(db, ids[0]!, 3, 60_000)).toBe(false);
  });
});

test('the sweep is not done with an open order whose webhooks are all settled', async () => {
  const { order, ids } = await orderWith('signup_started');
  await recordAttempt(db, attempt(ids[0]!, delivered));
  expect(await isSwept(order.id)).toBe(true);
});
