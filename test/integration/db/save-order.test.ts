import type { Db } from '../../../src/db/pool';
import { findOrder } from '../../../src/db/find-orders';
import { RowConflict, insertRefusal, saveOrder } from '../../../src/db/save-order';
import { type OrderHistory, isStatusChange, sequenceOf, toWorkflowHistory } from '../../../src/domain/order';
import { minute, request } from '../../unit/domain/histories';
import { type TestDatabase, createDatabase } from '../../support/database';
import { go, insertedOrder, sweptIn } from './new-orders';

let database: TestDatabase;
let db: Db;
beforeAll(async () => {
  database = await createDatabase();
  db = database.db;
});
afterAll(() => database.drop());

/** @param webhookUrl null if the order's changes are not sent */
function save(history: OrderHistory, webhookUrl = history.order.webhookUrl) {
  const { changes } = history;
  const webhooks = changes.filter(isStatusChange).map((change) => {
    const sequence = sequenceOf(changes, change);
    return { version: change.version, sequence, body: `${sequence} ${change.to}` };
  });
  return saveOrder(db, toWorkflowHistory(history), webhookUrl === null ? [] : webhooks, 60_000);
}

async function eventsOf({ order }: OrderHistory) {
  const { rows } = await db.query<{ sequence: number; body: string; state: string }>(
    'select sequence, body, state from webhook_event where order_id = $1 order by sequence',
    [order.id],
  );
  return rows.map(({ sequence, body, state }) => `${sequence}: ${body} (${state})`);
}

test('a change is written to row, timeline and webhook events', async () => {
  const before = await insertedOrder(db, {}, { attachments: { source: 'shop', metaData: null } });
  const history = go(before, request('signup_started', { reason: 'clicked' }));
  const pending = await save(history);
  expect(await findOrder(db, before.order.id)).toMatchObject({ ...history, started: true });
  expect(await eventsOf(history)).toEqual(['1: 1 PENDING (pending)']);
  expect(pending).toEqual([{ id: expect.any(String), sequence: 1, attempts: 0, nextAttemptAt: null }]);
});

test('saving the same again changes nothing, and tells the same of what is pending', async () => {
  const history = go(await insertedOrder(db), 'signup_started', 'approved');
  const pending = await save(history);
  expect(pending.map(({ sequence }) => sequence)).toEqual([1, 2]);
  expect(await save(history)).toEqual(pending);
  expect(await findOrder(db, history.order.id)).toMatchObject(history);
  expect(await eventsOf(history)).toHaveLength(2);
});

test('a row that is behind is brought forward by every change that it lacks', async () => {
  const before = await insertedOrder(db);
  const history = go(before, 'signup_started', 'approved', 'completed');
  await save(history);
  expect(await findOrder(db, before.order.id)).toMatchObject(history);
  expect(await eventsOf(history)).toEqual([
    '1: 1 PENDING (pending)',
    '2: 2 APPROVED (pending)',
    '3: 3 SUCCESSFUL (pending)',
  ]);
});

test('a cancel of an UNSUCCESSFUL order is written down without a webhook', async () => {
  const declined = go(await insertedOrder(db), 'signup_started', 'declined');
  await save(declined);
  const cancelled = go(declined, 'cancel');
  await save(cancelled);
  expect((await findOrder(db, declined.order.id))?.order.cancelledAt).toBe(cancelled.order.cancelledAt);
  expect(await eventsOf(cancelled)).toHaveLength(2);
});

test('an event keeps its id when a restored backup lost it', async () => {
  const before = await insertedOrder(db);
  const history = go(before, 'signup_started');
  const [lost] = await save(history);
  await db.query('delete from webhook_event where id = $1', [lost!.id]);
  await db.query('delete from order_timeline where order_id = $1 and version = 2', [before.order.id]);
  await db.query(`update orders set version = 1, status = 'CREATED' where id = $1`, [before.order.id]);
  expect(await save(history)).toEqual([lost]);
});

test('an order whose endpoint is gone makes events that are not sent', async () => {
  const history = go(await insertedOrder(db), 'signup_started');
  await save(history);
  await db.query(`update webhook_event set state = 'disabled' where order_id = $1`, [history.order.id]);
  const next = go(history, 'approved');
  expect(await save(next)).toEqual([]);
  expect(await eventsOf(next)).toEqual(['1: 1 PENDING (disabled)', '2: 2 APPROVED (disabled)']);
});

test('an order without a webhook address makes no events', async () => {
  const history = go(await insertedOrder(db, { webhookUrl: null }), 'signup_started');
  expect(await save(history)).toEqual([]);
  expect(await eventsOf(history)).toEqual([]);
});

describe('a row that the history does not build on', () => {
  const refused = async (history: OrderHistory, stored: OrderHistory) => {
    await expect(save(history)).rejects.toThrow(RowConflict);
    expect(await findOrder(db, stored.order.id)).toMatchObject(stored);
  };

  test('because it is newer, is left alone', async () => {
    const history = go(await insertedOrder(db), 'signup_started');
    const newer = go(history, 'approved');
    await save(newer);
    await refused(history, newer);
  });

  test('because it took another turn, is left alone', async () => {
    const before = await insertedOrder(db);
    const cancelled = go(before, 'cancel');
    await save(cancelled);
    await refused(go(before, 'signup_started', 'approved'), cancelled);
  });

  test('because it made the same change at another time, is left alone', async () => {
    const history = go(await insertedOrder(db), 'signup_started');
    await save(history);
    const [first, second] = history.changes;
    await refused(go({ ...history, changes: [first!, { ...second!, at: minute(30) }] }, 'approved'), history);
  });

  test('because there is none, is refused', async () => {
    const history = go(await insertedOrder(db), 'signup_started');
    const elsewhere = { ...history, order: { ...history.order, id: '00000000-0000-4000-8000-000000000000' } };
    await expect(save(elsewhere)).rejects.toThrow(RowConflict);
  });
});

test('two saves at once of two different changes: one is written, the other refused', async () => {
  const before = await insertedOrder(db);
  const holder = await db.connect();
  await holder.query('begin');
  await holder.query('select from orders where id = $1 for update', [before.order.id]);
  const saves = Promise.allSettled([save(go(before, 'cancel')), save(go(before, 'signup_started'))]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await holder.query('commit');
  holder.release();
  const results = await saves;
  const refused = results.filter((result) => result.status === 'rejected');
  expect(refused.map(({ reason }) => reason as unknown)).toEqual([expect.any(RowConflict)]);
  expect((await findOrder(db, before.order.id))?.order.version).toBe(2);
});

describe('the sweep', () => {
  test('looks after an open order again, and after a closed one whose webhooks are pending', async () => {
    const open = go(await insertedOrder(db), 'signup_started');
    const closed = go(await insertedOrder(db), 'failed');
    for (const history of [open, closed]) {
      await save(history);
      expect((await findOrder(db, history.order.id))?.started).toBe(true);
      const ms = await sweptIn(db, history.order.id);
      expect(ms).toBeGreaterThan(50_000);
      expect(ms).toBeLessThan(61_000);
    }
  });

  test('is done with a closed order that sends none', async () => {
    const closed = go(await insertedOrder(db, { webhookUrl: null }), 'failed');
    await save(closed);
    expect(await sweptIn(db, closed.order.id)).toBeNull();
  });
});

test('a refused request leaves one line, which is no change, however often it is written', async () => {
  const history = go(await insertedOrder(db), 'signup_started');
  await save(history);
  const refusal = {
    id: '1b4e28ba-2fa1-41d2-883f-0016d3cca427',
    orderId: history.order.id,
    event: 'nonsense',
    from: 'PENDING',
    actor: 'operator',
    reason: 'why not',
    at: minute(9),
  } as const;
  await insertRefusal(db, refusal);
  await insertRefusal(db, refusal);
  const { rows } = await db.query('select * from order_timeline where order_id = $1 and version is null', [
    history.order.id,
  ]);
  expect(rows).toMatchObject([{ event: 'nonsense', from_status: 'PENDING', to_status: 'PENDING', actor: 'operator' }]);
  expect((await findOrder(db, history.order.id))?.changes).toHaveLength(2);
  await save(go(history, 'approved'));
});
