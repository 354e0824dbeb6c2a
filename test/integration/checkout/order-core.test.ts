import { createOrderCore } from '../../../src/checkout/order-core';
import { clearRowBehind, markRowBehind } from '../../../src/db/save-order';
import type { OrderWorkflows } from '../../../src/temporal/order-workflows';
import { useDatabase } from '../../support/database';
import { insertNewOrder } from '../../support/new-orders';

const database = useDatabase();

test('a hold starts no run for an order of a restored backup until reconcile has repaired it', async () => {
  const order = await insertNewOrder(database.db);
  const holdExpiry = jest.fn(() => Promise.resolve());
  const core = createOrderCore({ db: database.db, workflows: { holdExpiry } as unknown as OrderWorkflows });
  await markRowBehind(database.db, order.id, 2);
  await core.holdExpiry(order, new Date());
  expect(holdExpiry).not.toHaveBeenCalled();
  await clearRowBehind(database.db, order.id);
  await core.holdExpiry(order, new Date());
  expect(holdExpiry).toHaveBeenCalledTimes(1);
});
