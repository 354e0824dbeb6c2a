import { type OrderFilter, findOrders } from '../../../src/db/list-orders';
import { useDatabase } from '../../support/database';
import { copyOrder } from '../../support/many-orders';
import { insertNewOrder } from '../../support/new-orders';
import { queryPlan } from '../../support/query-plan';

const database = useDatabase();
let sellerId: string;
beforeAll(async () => {
  for (const order of [await insertNewOrder(database.db), await insertNewOrder(database.db)]) {
    sellerId = order.sellerId;
    await copyOrder(database.db, order.id, 20_000);
  }
  await database.db.query(`update orders set status = 'CREATED' where amount_pence % 100 = 0`);
  await database.db.query('vacuum analyze orders');
});

const planOf = (filter: OrderFilter) => queryPlan(database.db, (db) => findOrders(db, filter, 50));

test.each([
  ['all orders', {}],
  ['orders in a status', { status: 'SUCCESSFUL' }],
  ['orders created after a time', { createdFrom: '2020-01-01T00:00:00Z' }],
] as const)('an index finds the newest orders of all sellers among many: %s', async (_, filter) => {
  const plan = await planOf(filter);
  expect(plan).toMatch(/Limit.*\n *-> +Index Scan using orders_by_age/);
  expect(plan).not.toContain('Seq Scan on orders');
});

const TIME = '2020-01-01T00:00:00Z';
const LATER = '2100-01-01T00:00:00Z';
const AFTER = {
  after: '6f0c2a52-8a3e-4e63-9d0a-52f1f6f0a111',
  afterTime: new Date(Date.now() - 7 * 86_400_000).toISOString(),
};

test.each<[string, string, OrderFilter]>([
  ['all', 'orders_by_(age|seller)', {}],
  ['in a status', 'orders_by_seller_status', { status: 'CREATED' }],
  ['with a reference', 'orders_by_(seller_)?reference', { reference: 'copy 77' }],
  ['of an amount', 'orders_by_seller_amount', { amountPence: 5000 }],
  ['that were saved last', 'orders_by_seller_save', { savedFrom: TIME }],
  ['that were saved before a time', 'orders_by_seller_save', { savedBefore: LATER }],
  ['that completed last', 'orders_by_seller_completion', { completedFrom: TIME }],
  ['that completed before a time', 'orders_by_seller_completion', { completedBefore: LATER }],
])('an index finds the orders of a seller among many, and the next page: %s', async (_, index, filter) => {
  for (const page of [filter, { ...filter, ...AFTER }]) {
    const plan = await planOf({ sellerId, ...page });
    expect(plan).toMatch(new RegExp(`Limit.*\\n *-> +Index Scan using ${index} `));
    expect(plan).not.toContain('Seq Scan on orders');
  }
  // The place to continue at is found in the index, not by a walk from the start of the list.
  if (Object.keys(filter).every((field) => !/reference|status|amount/.test(field)))
    expect(await planOf({ sellerId, ...filter, ...AFTER })).toMatch(/Index Cond: .*ROW\(\w+, id\) </);
});
