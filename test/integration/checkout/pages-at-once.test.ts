import { BASE, apiOf } from '../../support/api';
import { useCheckout } from '../../support/checkout';
import { holdTransaction, statementsWaiting } from '../../support/database';
import { createSeller } from '../../support/stack';
import { createOrder } from '../../support/orders';
import { until } from '../../support/until';

const stack = useCheckout({ worker: false });

test("pages of a seller's many orders wait for each other, and leave connections to other sellers", async () => {
  const other = apiOf(stack.api.url, await createSeller(stack.db, undefined, { sandbox: true }), stack.api.checkoutKey);
  const created = await Promise.all(Array.from({ length: 40 }, () => createOrder(stack.api)));
  const statusOf = async ({ order_url: url }: { order_url: string }) => (await fetch(url)).status;
  // No page of an order can be read meanwhile.
  const lock = await holdTransaction(stack.db, 'lock table application in access exclusive mode');
  const held = Promise.all(created.map(statusOf));
  await until(async () => (await statementsWaiting(stack.db)) === 3, 'three pages are being read');
  expect((await other.call('GET', `${BASE}/order/${created[0]!.id}/`)).status).toBe(404);
  expect((await other.create()).status).toBe(201);
  await lock.rollback();
  // A page gives up after some seconds.
  expect([200, 503]).toEqual(expect.arrayContaining(await held));
  for (const order of created) await until(async () => (await statusOf(order)) === 200, 'the page is shown');
});
