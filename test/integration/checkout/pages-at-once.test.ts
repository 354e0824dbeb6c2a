import { setTimeout as delay } from 'node:timers/promises';
import { BASE, apiOf } from '../../support/api';
import { useCheckout } from '../../support/checkout';
import { holdTransaction, statementsWaiting } from '../../support/database';
import { createSeller } from '../../support/stack';
import { until } from '../../support/until';

const stack = useCheckout({ worker: false });

test("pages of a seller's many orders wait for each other, and leave connections to other sellers", async () => {
  const other = apiOf(stack.api.url, await createSeller(stack.db), stack.api.checkoutKey);
  const created = await Promise.all(Array.from({ length: 40 }, () => stack.api.create()));
  let lockedMs = 0;
  const readPages = async () => {
    // No page of an order can be read meanwhile.
    const lock = await holdTransaction(stack.db, 'lock table application in access exclusive mode');
    const lockedAt = performance.now();
    const pages = created.map(async ({ body }) => (await fetch(body.data.order_url as string)).status);
    try {
      await until(async () => (await statementsWaiting(stack.db)) === 3, 'three pages are being read');
      await delay(300);
      expect(await statementsWaiting(stack.db)).toBe(3);
      expect((await other.call('GET', `${BASE}/order/${created[0]!.body.data.id}/`)).status).toBe(404);
      expect((await other.create()).status).toBe(201);
    } finally {
      await lock.rollback();
      lockedMs = performance.now() - lockedAt;
    }
    expect(await Promise.all(pages)).toEqual(Array(40).fill(200));
  };
  await readPages().catch((error: unknown) => {
    // A read gives up after 4 s, which passes if the machine stalls.
    if (lockedMs < 3000) throw error;
    return readPages();
  });
});
