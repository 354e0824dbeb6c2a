import { randomUUID } from 'node:crypto';
import { recordAgreement, upsertPaymentTerm } from '../../../src/db/applications';
import { findOrder } from '../../../src/db/find-orders';
import { finishSettled } from '../../../src/db/order-work';
import { recordPaymentStatus } from '../../../src/db/payments';
import { CustomerAgreed, PaymentProcessing, RowConflict, saveOrder } from '../../../src/db/save-order';
import { type Refusal, insertRefusal } from '../../../src/db/timeline-notes';
import { type OrderHistory, isStatusChange, sequenceOf, toWorkflowOrderHistory } from '../../../src/domain/order';
import { atMinute, request, applyEvents } from '../../support/order-histories';
import { holdTransaction, statementsWaiting, useDatabase } from '../../support/database';
import { until } from '../../support/until';
import { insertNewOrder, msUntilSweep } from '../../support/new-orders';

const database = useDatabase();

/** Saves a history with short webhook bodies: `<sequence> <status>`. */
async function save(history: OrderHistory, webhookUrl = history.order.webhookUrl, isRestored = false) {
  const { changes } = history;
  const webhooks = changes.filter(isStatusChange).map((change) => {
    const sequence = sequenceOf(changes, change);
    return { version: change.version, sequence, body: `${sequence} ${change.to}` };
  });
  const times = { unprovenMs: 60_000, checkAfterMs: 60_000 };
  const shown = webhookUrl === null ? [] : webhooks;
  return (await saveOrder(database.db, toWorkflowOrderHistory(history), shown, times, isRestored)).pending;
}

async function eventsOf({ order }: OrderHistory) {
  const { rows } = await database.db.query<{ sequence: number; body: string; state: string }>(
    'select sequence, body, state from webhook_event where order_id = $1 order by sequence',
    [order.id],
  );
  return rows.map(({ sequence, body, state }) => `${sequence}: ${body} (${state})`);
}

test('a save writes a change to the row, the timeline and the webhook events', async () => {
  const before = await insertNewOrder(database.db, {}, { attachments: { source: 'shop', metaData: null } });
  const history = applyEvents(before, request('signup_started', { reason: 'clicked' }));
  const pending = await save(history);
  expect(await findOrder(database.db, before.order.id)).toMatchObject({ ...history, started: true });
  expect(await eventsOf(history)).toEqual(['1: 1 PENDING (pending)']);
  expect(pending).toEqual([{ id: expect.any(String), sequence: 1, attempts: 0, waitMs: null, waitedMs: 0 }]);
});

test('a repeated save changes nothing and returns the same pending webhooks', async () => {
  const history = applyEvents(await insertNewOrder(database.db), 'signup_started', 'approved');
  const pending = await save(history);
  expect(pending.map(({ sequence }) => sequence)).toEqual([1, 2]);
  expect(await save(history)).toEqual(pending);
  expect(await findOrder(database.db, history.order.id)).toMatchObject(history);
  expect(await eventsOf(history)).toHaveLength(2);
});

test('a row that is behind gets every change that it lacks', async () => {
  const before = await insertNewOrder(database.db);
  const history = applyEvents(before, 'signup_started', 'approved', 'completed');
  await save(history);
  expect(await findOrder(database.db, before.order.id)).toMatchObject(history);
  expect(await eventsOf(history)).toEqual([
    '1: 1 PENDING (pending)',
    '2: 2 APPROVED (pending)',
    '3: 3 SUCCESSFUL (pending)',
  ]);
});

test('a cancel of an UNSUCCESSFUL order is saved without a webhook event', async () => {
  const declined = applyEvents(await insertNewOrder(database.db), 'signup_started', 'declined');
  await save(declined);
  const cancelled = applyEvents(declined, 'cancel');
  await save(cancelled);
  expect((await findOrder(database.db, declined.order.id))?.order.cancelledAt).toBe(cancelled.order.cancelledAt);
  expect(await eventsOf(cancelled)).toHaveLength(2);
});

test('a webhook event that a restored backup lacks gets the same id again', async () => {
  const before = await insertNewOrder(database.db);
  const history = applyEvents(before, 'signup_started');
  const [lost] = await save(history);
  await database.db.query('delete from webhook_event where id = $1', [lost!.id]);
  await database.db.query('delete from order_timeline where order_id = $1 and version = 2', [before.order.id]);
  await database.db.query(`update orders set version = 1, status = 'CREATED' where id = $1`, [before.order.id]);
  expect(await save(history)).toEqual([lost]);
});

test('a further webhook event of an order whose webhooks are disabled is disabled', async () => {
  const history = applyEvents(await insertNewOrder(database.db), 'signup_started');
  await save(history);
  await database.db.query('update orders set webhooks_disabled = true where id = $1', [history.order.id]);
  const next = applyEvents(history, 'approved');
  expect(await save(next)).toEqual([]);
  expect(await eventsOf(next)).toEqual(['1: 1 PENDING (pending)', '2: 2 APPROVED (disabled)']);
});

test('an order without a webhook URL gets no webhook events', async () => {
  const history = applyEvents(await insertNewOrder(database.db, { webhookUrl: null }), 'signup_started');
  expect(await save(history)).toEqual([]);
  expect(await eventsOf(history)).toEqual([]);
});

test('a save of a change that an earlier save has committed adopts the copy of the row', async () => {
  const before = await insertNewOrder(database.db, {}, { attachments: { source: 'shop', metaData: null } });
  const committed = applyEvents(before, request('cancel', { reason: 'first' }));
  const pending = await save(committed);
  const [created, cancelled] = committed.changes;
  const again = { ...cancelled!, at: atMinute(30), reason: 'second' };
  const repeated = { order: { ...committed.order, cancelledAt: again.at }, changes: [created!, again] };
  const times = { unprovenMs: 1, checkAfterMs: 1 };
  expect(await saveOrder(database.db, toWorkflowOrderHistory(repeated), [], times)).toEqual({
    changes: committed.changes,
    pending,
  });
  expect(await findOrder(database.db, before.order.id)).toMatchObject(committed);
});

describe('a row that the history does not extend', () => {
  const expectConflict = async (history: OrderHistory, stored: OrderHistory) => {
    await expect(save(history)).rejects.toThrow(RowConflict);
    expect(await findOrder(database.db, stored.order.id)).toMatchObject(stored);
  };

  test('stays unchanged if it is newer', async () => {
    const history = applyEvents(await insertNewOrder(database.db), 'signup_started');
    const newer = applyEvents(history, 'approved');
    await save(newer);
    await expectConflict(history, newer);
  });

  test('stays unchanged if it has another change', async () => {
    const before = await insertNewOrder(database.db);
    const cancelled = applyEvents(before, 'cancel');
    await save(cancelled);
    await expectConflict(applyEvents(before, 'signup_started', 'approved'), cancelled);
  });

  test('stays unchanged if it has the same change at another time', async () => {
    const history = applyEvents(await insertNewOrder(database.db), 'signup_started');
    await save(history);
    const [first, second] = history.changes;
    await expectConflict(
      applyEvents({ ...history, changes: [first!, { ...second!, at: atMinute(30) }] }, 'approved'),
      history,
    );
  });

  test('is a conflict if it is missing', async () => {
    const history = applyEvents(await insertNewOrder(database.db), 'signup_started');
    const elsewhere = { ...history, order: { ...history.order, id: '00000000-0000-4000-8000-000000000000' } };
    await expect(save(elsewhere)).rejects.toThrow(RowConflict);
  });
});

test('one of two concurrent saves of different changes succeeds, and the other one is a conflict', async () => {
  const before = await insertNewOrder(database.db);
  const lock = await holdTransaction(database.db, 'select from orders where id = $1 for update', [before.order.id]);
  const saves = Promise.allSettled([save(applyEvents(before, 'cancel')), save(applyEvents(before, 'signup_started'))]);
  await until(async () => (await statementsWaiting(database.db, 'save_change')) === 2, 'both saves wait for the lock');
  await lock.commit();
  const results = await saves;
  const rejected = results.filter((result) => result.status === 'rejected');
  expect(rejected.map(({ reason }) => reason as unknown)).toEqual([expect.any(RowConflict)]);
  expect((await findOrder(database.db, before.order.id))?.order.version).toBe(2);
});

describe('a save', () => {
  test('schedules the next check of an open order, and of a closed order with pending webhooks', async () => {
    const open = applyEvents(await insertNewOrder(database.db), 'signup_started');
    const closed = applyEvents(await insertNewOrder(database.db), 'failed');
    for (const history of [open, closed]) {
      await save(history);
      expect((await findOrder(database.db, history.order.id))?.started).toBe(true);
      const ms = await msUntilSweep(database.db, history.order.id);
      expect(ms).toBeGreaterThan(0);
      expect(ms).toBeLessThanOrEqual(60_000);
    }
  });

  test('has the sweep check that Temporal knows it, also for a closed order without webhooks', async () => {
    const closed = applyEvents(await insertNewOrder(database.db, { webhookUrl: null }), 'failed');
    const { id, version } = closed.order;
    await save(closed);
    expect(await msUntilSweep(database.db, id)).toBeGreaterThan(0);
    await finishSettled(database.db, id, version - 1);
    expect(await msUntilSweep(database.db, id)).not.toBeNull();
    await finishSettled(database.db, id, version);
    expect(await msUntilSweep(database.db, id)).toBeNull();
  });
});

test('a refusal that is recorded twice adds one timeline entry and no change', async () => {
  const history = applyEvents(await insertNewOrder(database.db), 'signup_started');
  await save(history);
  const refusal = {
    id: '1b4e28ba-2fa1-41d2-883f-0016d3cca427',
    orderId: history.order.id,
    event: 'nonsense',
    from: 'PENDING',
    actor: 'operator',
    channel: 'temporal',
    reason: 'why not',
    at: atMinute(9),
  } as const;
  await insertRefusal(database.db, refusal);
  await insertRefusal(database.db, refusal);
  const { rows } = await database.db.query('select * from order_timeline where order_id = $1 and version is null', [
    history.order.id,
  ]);
  expect(rows).toMatchObject([{ event: 'nonsense', from_status: 'PENDING', to_status: 'PENDING', actor: 'operator' }]);
  expect((await findOrder(database.db, history.order.id))?.changes).toHaveLength(2);
  await save(applyEvents(history, 'approved'));
});

test('an expiry is not saved after the customer has agreed', async () => {
  const history = await insertNewOrder(database.db);
  const { id } = history.order;
  const approved = applyEvents(history, 'signup_started', 'approved');
  await upsertPaymentTerm(database.db, id, 'PAY_NOW');
  await save(approved);
  const browser = Buffer.alloc(32);
  await database.db.query('update application set browser_digest = $2 where order_id = $1', [id, browser]);
  expect(await recordAgreement(database.db, id, [browser], new Date(), 1000)).toBe(true);
  const expiry = { event: 'expired', actor: 'system', channel: 'workflow', reason: null } as const;
  await expect(save(applyEvents(approved, expiry))).rejects.toThrow(CustomerAgreed);
  await save(applyEvents(approved, 'completed'));
  expect((await findOrder(database.db, id))?.order.status).toBe('SUCCESSFUL');
});

test('an expiry of a PENDING order is not saved while its payment can be approved or is confirmed, nor after it is paid', async () => {
  const history = await insertNewOrder(database.db);
  const { id } = history.order;
  const pending = applyEvents(history, 'signup_started');
  await upsertPaymentTerm(database.db, id, 'PAY_NOW');
  await save(pending);
  const { rows } = await database.db.query<{ id: string }>(
    `insert into payment (order_id, bank) values ($1, 'oak') returning id`,
    [id],
  );
  const expiry = { event: 'expired', actor: 'system', channel: 'workflow', reason: null } as const;
  await expect(save(applyEvents(pending, expiry))).rejects.toThrow(PaymentProcessing);
  // The bank may have been unavailable since.
  await database.db.query("update payment set started_at = now() - interval '1 hour'");
  await recordPaymentStatus(database.db, rows[0]!.id, 'processing', 1000);
  await expect(save(applyEvents(pending, expiry))).rejects.toThrow(PaymentProcessing);
  await recordPaymentStatus(database.db, rows[0]!.id, 'paid', 1000);
  await expect(save(applyEvents(pending, expiry))).rejects.toThrow(CustomerAgreed);
});

test('an expiry that was saved before stands, although the restored backup has a payment in progress', async () => {
  const history = await insertNewOrder(database.db);
  const { id, webhookUrl } = history.order;
  const pending = applyEvents(history, 'signup_started');
  await save(pending);
  await upsertPaymentTerm(database.db, id, 'PAY_NOW');
  await database.db.query(`insert into payment (order_id, bank) values ($1, 'oak')`, [id]);
  const expired = applyEvents(pending, { event: 'expired', actor: 'system', channel: 'workflow', reason: null });
  await expect(save(expired)).rejects.toThrow(PaymentProcessing);
  await save(expired, webhookUrl, true);
  expect((await findOrder(database.db, id))?.order.status).toBe('UNSUCCESSFUL');
});

test('an expiry is refused while a payment is pending, and saved a day after its start: no bank answers', async () => {
  const history = await insertNewOrder(database.db);
  const pending = applyEvents(history, 'signup_started');
  await save(pending);
  await database.db.query(
    `insert into payment (order_id, bank, started_at) values ($1, 'oak', now() - interval '23 hours')`,
    [history.order.id],
  );
  const expired = applyEvents(pending, { event: 'expired', actor: 'system', channel: 'workflow', reason: null });
  await expect(save(expired)).rejects.toThrow(PaymentProcessing);
  await database.db.query(`update payment set started_at = now() - interval '25 hours'`);
  await save(expired);
  expect((await findOrder(database.db, history.order.id))?.order.status).toBe('UNSUCCESSFUL');
});

test('after a restored backup, the same webhook has the same id, and one with other content another id', async () => {
  const approved = applyEvents(await insertNewOrder(database.db), 'signup_started', 'approved');
  const { id } = approved.order;
  await save(approved);
  const ids: string[] = [];
  for (const event of ['completed', 'completed', 'cancel'] as const) {
    await save(applyEvents(approved, event));
    const { rows } = await database.db.query<{ id: string }>(
      'delete from webhook_event where order_id = $1 and sequence = 3 returning id',
      [id],
    );
    ids.push(rows[0]!.id);
    await database.db.query('delete from order_timeline where order_id = $1 and version = 4', [id]);
    await database.db.query(`update orders set version = 3, status = 'APPROVED' where id = $1`, [id]);
  }
  expect(ids[1]).toBe(ids[0]);
  expect(ids[2]).not.toBe(ids[0]);
});

test('a refusal for an order without a row is dropped, not retried', async () => {
  const by = { actor: 'operator', channel: 'temporal', reason: null };
  const refusal = { event: 'cancel', from: 'CREATED', ...by, at: new Date().toISOString() };
  const orderId = randomUUID();
  await insertRefusal(database.db, { id: randomUUID(), orderId, ...refusal } as Refusal);
  expect((await database.db.query('select from order_timeline where order_id = $1', [orderId])).rowCount).toBe(0);
});
