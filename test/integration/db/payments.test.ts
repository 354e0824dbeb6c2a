import { findPaymentsToReturn } from '../../../src/db/payments';
import { useDatabase } from '../../support/database';
import { applyEvents, insertNewOrder, saveHistory } from './new-orders';

const database = useDatabase('test');

test('payments to return are found in random order, so none that fails holds up another one', async () => {
  const { db } = database;
  const ids: string[] = [];
  for (let count = 0; count < 2; count += 1) {
    const history = await insertNewOrder(db);
    await saveHistory(db, applyEvents(history, 'cancel'));
    const { rows } = await db.query<{ id: string }>(
      "insert into payment (order_id, bank, status) values ($1, 'oak', 'paid') returning id",
      [history.order.id],
    );
    ids.push(rows[0]!.id);
  }
  const found = new Set<string>();
  for (let rounds = 0; rounds < 100; rounds += 1) for (const { id } of await findPaymentsToReturn(db, 1)) found.add(id);
  expect([...found].sort()).toEqual(ids.sort());
});
