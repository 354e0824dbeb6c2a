import { readWork } from '../../../src/cli/status-checks';
import { markRowBehind } from '../../../src/db/save-order';
import { useDatabase } from '../../support/database';
import { insertNewOrder, saveChanges } from '../../support/new-orders';
import { applyEvents } from '../../support/domain-orders';

const database = useDatabase();

const find = async (part: string) =>
  (await readWork(() => database.db, true)).checks.find((check) => check.part === part);

test('an order of a restored backup needs a person until reconcile has repaired it', async () => {
  const order = await insertNewOrder(database.db);
  expect(await find('restored orders')).toMatchObject({ state: 'ok' });
  await markRowBehind(database.db, order.id, 2);
  expect(await find('restored orders')).toMatchObject({ state: 'failed', detail: '1 wait for reconcile' });
});

test('a payment that is not reversed 20 minutes after its order has closed needs a person', async () => {
  const order = await insertNewOrder(database.db);
  await saveChanges(database.db, applyEvents(order, 'cancel'));
  await database.db.query(`insert into payment (order_id, bank, status) values ($1, 'oak', 'paid')`, [order.id]);
  const closedAgo = (time: string) =>
    database.db.query(`update order_timeline set at = now() - $2::interval where order_id = $1`, [order.id, time]);
  const oldestFor = (seconds: string) => expect.stringMatching(`^1, the oldest for ${seconds} s$`);
  await closedAgo('19 minutes');
  expect(await find('payments to reverse')).toMatchObject({ state: 'ok', detail: oldestFor('11[4-9]\\d') });
  await closedAgo('21 minutes');
  expect(await find('payments to reverse')).toMatchObject({ state: 'failed', detail: oldestFor('12[6-9]\\d') });
});
