import { readWork } from '../../../src/cli/status';
import type { Lender } from '../../../src/checkout/lender/lender';
import { createSandboxLender } from '../../../src/checkout/sandbox/sandbox-lender';
import { markRowBehind } from '../../../src/db/orders';
import { createSeller } from '../../support/stack';
import { useDatabase } from '../../support/database';
import { insertNewOrder, saveChanges } from '../../support/new-orders';
import { applyEvents } from '../../support/domain-orders';

const database = useDatabase();

const lender = createSandboxLender(0);
const find = async (part: string, live?: Lender) =>
  (await readWork(() => database.db, { sandbox: lender, live })).checks.find((check) => check.part === part);

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

test('a live account without a lender needs a person, unless the account is disabled', async () => {
  await database.db.query('update seller set disabled_at = now()');
  expect(await find('lender')).toMatchObject({ state: 'ok' });
  await createSeller(database.db, undefined, { sandbox: true });
  expect(await find('lender')).toMatchObject({ state: 'ok' });
  await createSeller(database.db);
  expect(await find('lender')).toEqual({
    part: 'lender',
    state: 'attention',
    detail: 'none is connected, so 1 live accounts cannot create orders: set `live` in src/providers.ts',
  });
  expect(await find('lender', lender)).toMatchObject({ state: 'ok' });
});
