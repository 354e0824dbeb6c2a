import { findOrders } from '../../../src/db/find-orders';
import { useDatabase } from '../../support/database';
import { insertNewOrder } from '../../support/new-orders';
import { queryPlan } from '../../support/query-plan';

const database = useDatabase();
beforeAll(async () => {
  await insertNewOrder(database.db);
  await database.db
    .query(`insert into orders (id, seller_id, seller_name, amount_pence, reference, allowed_payment_terms,
      redirect_url, pay_link_id, pricing, created_at, version, status)
    select gen_random_uuid(), seller_id, seller_name, amount_pence, 'order ' || n, allowed_payment_terms,
      redirect_url, gen_random_uuid(), pricing, created_at - n * interval '1 minute', version, status
    from orders, generate_series(1, 20000) n`);
  await database.db.query(`insert into order_timeline (order_id, version, event, to_status, actor, channel, at)
    select id, version, 'created', status, 'seller', 'api', created_at from orders on conflict do nothing`);
  await database.db.query('analyze orders, order_timeline');
});

test.each([
  ['all orders', {}],
  ['orders in a status', { status: 'CREATED' }],
  ['orders created after a time', { createdFrom: '2020-01-01T00:00:00Z' }],
] as const)('an index finds the newest orders of all sellers among many: %s', async (_, filter) => {
  const plan = await queryPlan(database.db, (explainingDb) => findOrders(explainingDb, filter, 50));
  expect(plan).toMatch(/Limit.*\n *-> +Index Scan using orders_by_age/);
  expect(plan).not.toContain('Seq Scan on orders');
});

test('an index finds the orders of a seller that were saved last', async () => {
  const { rows } = await database.db.query<{ sellerId: string }>('select seller_id as "sellerId" from orders limit 1');
  const filter = { sellerId: rows[0]!.sellerId, savedFrom: '2020-01-01T00:00:00Z' };
  const plan = await queryPlan(database.db, (explainingDb) => findOrders(explainingDb, filter, 50));
  expect(plan).toMatch(/Limit.*\n *-> +Index Scan using orders_by_seller_save/);
});
