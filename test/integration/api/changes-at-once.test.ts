import { setTimeout as delay } from 'node:timers/promises';
import { apiOf } from '../../support/api';
import { holdTransaction } from '../../support/database';
import { openOrder } from '../../support/orders';
import { createSeller, useStack } from '../../support/stack';

const stack = useStack({ env: { DATABASE_POOL_SIZE: '30' } });

test("ten changes of a seller's orders run at once: further ones wait, and another seller's do not", async () => {
  const other = apiOf(stack.api.url, await createSeller(stack.db), stack.api.checkoutKey);
  const ids = await Promise.all(Array.from({ length: 11 }, () => openOrder(stack)));
  const last = ids.at(-1)!;
  const others = (await other.create()).body.data.id;
  // Each of the ten waits for its row.
  const held = await holdTransaction(stack.db, 'select from orders where id = any($1) for update', [ids.slice(0, 10)]);
  const slow = ids.slice(0, 10).map((id) => stack.api.cancel(id));
  await delay(300);
  let isDone = false;
  const waiting = stack.api.cancel(last).finally(() => (isDone = true));
  expect((await other.cancel(others)).status).toBe(200);
  await delay(1000);
  expect(isDone).toBe(false);
  await held.rollback();
  expect((await Promise.all([...slow, waiting])).map(({ status }) => status)).toEqual(Array(11).fill(200));
});
