import { findOrder } from '../../../src/db/find-orders';
import { commitChange } from '../../../src/db/save-order';
import { decide } from '../../../src/domain/order';
import { useDatabase } from '../../support/database';
import { insertNewOrder } from '../../support/new-orders';

const database = useDatabase();

const WEBHOOK = { id: '3c1f0a52-8a3e-8e63-ad0a-52f1f6f0a111', sequence: 1, body: '{}' };

/** A new order and a change of it. */
async function newChange() {
  const order = await insertNewOrder(database.db);
  const request = { event: 'failed', actor: 'checkout', channel: 'api', reason: null } as const;
  const change = decide(order, request, new Date().toISOString());
  if (typeof change === 'string') throw new Error(change);
  return { id: order.id, change };
}

test('a change that does not build on the version of the row is not saved', async () => {
  const { id, change } = await newChange();
  expect(await commitChange(database.db, id, { ...change, version: 3 }, WEBHOOK)).toBeUndefined();
  expect(await commitChange(database.db, id, { ...change, version: 1 }, WEBHOOK)).toBeUndefined();
  expect((await findOrder(database.db, id))!.changes).toHaveLength(1);
  expect((await database.db.query('select from webhook_event where order_id = $1', [id])).rowCount).toBe(0);
});

test('one of two changes that build on the same version is saved', async () => {
  const { id, change } = await newChange();
  const saves = await Promise.all(Array.from({ length: 8 }, () => commitChange(database.db, id, change)));
  expect(saves.filter(Boolean)).toEqual([{ isPending: false }]);
  expect((await findOrder(database.db, id))!.changes).toHaveLength(2);
});
