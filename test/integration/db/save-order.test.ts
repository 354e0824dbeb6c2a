import { findOrder } from '../../../src/db/find-orders';
import { saveChange } from '../../../src/db/save-order';
import { decide } from '../../../src/domain/order';
import type { OrderEvent } from '../../../src/domain/status';
import { useDatabase } from '../../support/database';
import { insertNewOrder } from '../../support/new-orders';

const database = useDatabase();

const WEBHOOK = { id: '3c1f0a52-8a3e-8e63-ad0a-52f1f6f0a111', sequence: 1, body: '{}' };

/** A new order and a change of it. */
async function newChange(event: OrderEvent) {
  const order = await insertNewOrder(database.db);
  const request = { event, actor: 'checkout', channel: 'api', reason: null } as const;
  const change = decide(order, request, new Date().toISOString());
  if (typeof change === 'string') throw new Error(change);
  return { id: order.id, change };
}

test('a change is saved with its timeline entry and its webhook', async () => {
  const { id, change } = await newChange('signup_started');
  const webhook = { ...WEBHOOK, id: id.replace(/^........-....-4/, '00000000-0000-8') };
  expect(await saveChange(database.db, id, change, webhook, { requestId: 'r1' })).toEqual({ isPending: true });
  expect(await findOrder(database.db, id)).toMatchObject({
    version: 2,
    status: 'PENDING',
    cancelledAt: null,
    changes: [{ event: 'created' }, change],
  });
  const { rows } = await database.db.query(
    'select id, sequence, body, state, request_id from webhook_event where order_id = $1',
    [id],
  );
  expect(rows).toEqual([{ id: webhook.id, sequence: 1, body: '{}', state: 'pending', request_id: 'r1' }]);
});

test('only a cancel sets cancelledAt', async () => {
  const cancelled = await newChange('cancel');
  await saveChange(database.db, cancelled.id, cancelled.change);
  expect((await findOrder(database.db, cancelled.id))!.cancelledAt).toBe(cancelled.change.at);
  const failed = await newChange('failed');
  await saveChange(database.db, failed.id, failed.change);
  expect((await findOrder(database.db, failed.id))!.cancelledAt).toBeNull();
});

test('a change that does not build on the version of the row is not saved', async () => {
  const { id, change } = await newChange('failed');
  expect(await saveChange(database.db, id, { ...change, version: 3 }, WEBHOOK)).toBeUndefined();
  expect(await saveChange(database.db, id, { ...change, version: 1 }, WEBHOOK)).toBeUndefined();
  expect((await findOrder(database.db, id))!.changes).toHaveLength(1);
  expect((await database.db.query('select from webhook_event where order_id = $1', [id])).rowCount).toBe(0);
});

test('one of two changes that build on the same version is saved', async () => {
  const { id, change } = await newChange('failed');
  const saves = await Promise.all(Array.from({ length: 8 }, () => saveChange(database.db, id, change)));
  expect(saves.filter(Boolean)).toEqual([{ isPending: false }]);
  expect((await findOrder(database.db, id))!.changes).toHaveLength(2);
});

test('the webhook of an order whose webhooks are disabled is saved as disabled', async () => {
  const { id, change } = await newChange('failed');
  await database.db.query('update orders set webhooks_disabled = true where id = $1', [id]);
  const webhook = { ...WEBHOOK, id: id.replace(/^........-....-4/, '00000000-0000-8') };
  expect(await saveChange(database.db, id, change, webhook)).toEqual({ isPending: false });
});
