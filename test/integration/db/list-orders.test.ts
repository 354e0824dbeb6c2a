import { listOrders } from '../../../src/db/list-orders';
import { type TestDatabase, createDatabase } from '../../support/database';
import { insertedOrder } from './new-orders';
import { queryPlan } from './query-plan';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
  await insertedOrder(database.db);
  await database.db
    .query(`insert into orders (id, seller_id, seller_name, amount_pence, reference, allowed_payment_terms,
      redirect_url, pay_link_id, pricing, created_at, version, status)
    select gen_random_uuid(), seller_id, seller_name, amount_pence, 'order ' || n, allowed_payment_terms,
      redirect_url, gen_random_uuid(), pricing, created_at - n * interval '1 minute', version, status
    from orders, generate_series(1, 20000) n`);
  await database.db.query('analyze orders');
});
afterAll(() => database.drop());

test.each([
  ['all', {}],
  ['those of a status', { status: 'CREATED' }],
  ['those from a time on', { createdFrom: '2020-01-01T00:00:00Z' }],
] as const)('the newest orders of all sellers are found by an index, however many there are: %s', async (_, filter) => {
  const plan = await queryPlan(database.db, (explaining) => listOrders(explaining, filter, 50));
  expect(plan).toMatch(/^Limit.*\n *-> +Index Scan using orders_by_age/);
  expect(plan).not.toContain('Seq Scan');
});
