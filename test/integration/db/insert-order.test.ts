import { createPool } from '../../../src/db/pool';
import { insertOrder } from '../../../src/db/save-order';
import { useDatabase } from '../../support/database';
import { BY_SELLER, newOrder, newSeller } from '../../support/new-orders';

const database = useDatabase();

test('a refused insert keeps its connection', async () => {
  const order = newOrder(await newSeller(database.db));
  const pool = createPool(database.url, 1, () => undefined);
  const pid = async () => (await pool.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;
  const before = await pid();
  await insertOrder(pool, order, BY_SELLER);
  const duplicate = insertOrder(pool, { ...newOrder(order.sellerId), reference: order.reference }, BY_SELLER);
  await expect(duplicate).rejects.toMatchObject({ code: '23505' });
  expect(await pid()).toBe(before);
  await pool.end();
});
