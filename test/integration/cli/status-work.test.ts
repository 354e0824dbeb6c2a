import { readWork } from '../../../src/cli/status-checks';
import { useDatabase } from '../../support/database';
import { insertNewOrder, saveHistory } from '../../support/new-orders';
import { applyEvents } from '../../support/order-histories';

const database = useDatabase();

const find = async (part: string) => (await readWork(() => database.db)).checks.find((check) => check.part === part);

test('an old webhook needs a person only if a delivery attempt of it is overdue', async () => {
  const history = await insertNewOrder(database.db, { webhookUrl: 'https://shop.example/hook' });
  await saveHistory(database.db, applyEvents(history, 'signup_started'), 600_000);
  await database.db.query(
    `update webhook_event set created_at = now() - interval '5 days', next_attempt_at = now() + interval '1 hour'`,
  );
  expect(await find('webhooks pending')).toMatchObject({ state: 'ok' });
  await database.db.query(`update webhook_event set next_attempt_at = now() - interval '1 hour'`);
  expect(await find('webhooks pending')).toMatchObject({
    state: 'attention',
    detail: expect.stringMatching(/; an attempt is 36\d\d s overdue$/),
  });
});

test('a payment that is not reversed 20 minutes after its order has closed needs a person', async () => {
  const history = await insertNewOrder(database.db);
  await saveHistory(database.db, applyEvents(history, 'cancel'));
  await database.db.query(`insert into payment (order_id, bank, status) values ($1, 'oak', 'paid')`, [
    history.order.id,
  ]);
  const closedAgo = (time: string) =>
    database.db.query(`update order_timeline set at = now() - $2::interval where order_id = $1`, [
      history.order.id,
      time,
    ]);
  const oldestFor = (seconds: string) => expect.stringMatching(`^1, the oldest for ${seconds} s$`);
  await closedAgo('19 minutes');
  expect(await find('payments to reverse')).toMatchObject({ state: 'ok', detail: oldestFor('11[4-9]\\d') });
  await closedAgo('21 minutes');
  expect(await find('payments to reverse')).toMatchObject({ state: 'failed', detail: oldestFor('12[6-9]\\d') });
});
