import { findWaitingOrders } from '../../../src/db/find-orders';
import { useDatabase } from '../../support/database';
import { insertNewOrder, newSeller } from '../../support/new-orders';

const database = useDatabase('test');

/** Inserts orders of a seller, the first one an hour ago, and each further one a second later. Returns their ids. */
async function insertOrders(sellerId: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let nth = 0; nth < count; nth++) {
    const { id } = await insertNewOrder(database.db, { sellerId });
    await database.db.query(
      `update start_request set created_at = now() - interval '1 hour' + $2 * interval '1 second' where order_id = $1`,
      [id, nth],
    );
    ids.push(id);
  }
  return ids;
}

test('sellers take turns, however many orders one of them has', async () => {
  const large = await insertOrders(await newSeller(database.db), 5);
  const small = await insertOrders(await newSeller(database.db), 2);
  expect(await findWaitingOrders(database.db, 0, 4)).toEqual(
    expect.arrayContaining([large[0], small[0], large[1], small[1]]),
  );
  expect(await findWaitingOrders(database.db, 0, 100)).toHaveLength(7);
  expect(await findWaitingOrders(database.db, 24 * 3_600_000, 100)).toEqual([]);
});
