import { randomUUID } from 'node:crypto';
import { type Difference, reconcile } from '../../../src/orders/reconcile';
import { repairDifference } from '../../../src/orders/repair-difference';
import { useDatabase } from '../../support/database';
import { insertNewOrder, newOrder, newSeller } from '../../support/new-orders';
import { insertOrder } from '../../../src/db/insert-order';

const database = useDatabase('test');

/** What the Temporal client throws if the server does not answer before the deadline. */
const timeout = (): Error =>
  Object.assign(new Error('4 DEADLINE_EXCEEDED'), { code: 4, details: 'Deadline exceeded', metadata: {} });

async function* listed(...ids: string[]) {
  yield* await Promise.resolve(ids);
}

async function reconciled(late: (orderId: string) => boolean, workflows: string[] = []): Promise<Difference[]> {
  const inspect = (orderId: string) => (late(orderId) ? Promise.reject(timeout()) : Promise.resolve(undefined));
  const found: Difference[] = [];
  const deps = { db: database.db, inspect, listWorkflows: () => listed(...workflows) };
  for await (const { differences } of reconcile(deps, {})) found.push(...differences);
  return found;
}

test('an order whose run Temporal does not return in time is reported, and the others are compared', async () => {
  const orders = [await insertNewOrder(database.db), await insertNewOrder(database.db)];
  await database.db.query('update order_work set started = true');
  const [late, missing] = orders.map(({ order }) => order.id);
  const lateRow = randomUUID();
  const differences = await reconciled((id) => id === late || id === lateRow, [lateRow]);
  const kinds = Object.fromEntries(differences.map(({ orderId, kind }) => [orderId, kind]));
  expect(kinds).toEqual({ [late!]: 'not_compared', [missing!]: 'not_running', [lateRow]: 'not_compared' });
  for (const difference of differences.filter(({ kind }) => kind === 'not_compared')) {
    const deps = { db: database.db } as Parameters<typeof repairDifference>[0];
    expect(await repairDifference(deps, difference)).toBe('compare_again');
  }
});

test('a Temporal server that answers no call ends the comparison', async () => {
  const sellerId = await newSeller(database.db);
  for (let count = 0; count < 21; count++) await insertOrder(database.db, newOrder(sellerId));
  await expect(reconciled(() => true)).rejects.toThrow('Temporal answers no call in time');
});
