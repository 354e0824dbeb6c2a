import { findOrder } from '../../../src/db/orders';
import { createOrderWorkflows } from '../../../src/temporal/order-workflow-client';
import { apiOf } from '../../support/api';
import { holdTransaction, statementsWaiting } from '../../support/database';
import { openOrder } from '../../support/orders';
import { type Stack, createSeller, useStack } from '../../support/stack';
import { until } from '../../support/until';

// Changes wait for held saves, also on a machine that stalls.
const stack = useStack({ env: { DATABASE_POOL_SIZE: '30', UPDATE_TIMEOUT_MS: '60000' } });

/** Makes the saves of these orders wait. */
const holdSaves = ({ db }: Stack, ids: readonly string[]) =>
  holdTransaction(db, 'select from orders where id = any($1) for update', [ids]);

test("ten changes of a seller's orders run at once: further ones wait, and another seller's do not", async () => {
  const other = apiOf(stack.api.url, await createSeller(stack.db), stack.api.checkoutKey);
  const ids = await Promise.all(Array.from({ length: 11 }, () => openOrder(stack)));
  const last = ids.at(-1)!;
  const others = (await other.create()).body.data.id;
  const held = await holdSaves(stack, ids);
  const slow = ids.slice(0, 10).map((id) => stack.api.cancel(id));
  const waitingSaves = () => statementsWaiting(stack.db, 'update orders set version');
  await until(async () => (await waitingSaves()) === 10, 'ten changes wait for their rows');
  const waiting = stack.api.cancel(last);
  expect((await other.cancel(others)).status).toBe(200);
  // A save that waits too long for its row is made again.
  expect(await waitingSaves()).toBeLessThanOrEqual(10);
  await held.rollback();
  expect((await Promise.all([...slow, waiting])).map(({ status }) => status)).toEqual(Array(11).fill(200));
});

test('a process that shuts down waits for changes that wait for their turn', async () => {
  const timeouts = { startTimeoutMs: 60_000, updateTimeoutMs: 60_000 };
  const workflows = createOrderWorkflows(stack.client, { ...timeouts, encryptPayloads: false });
  const ids = await Promise.all(Array.from({ length: 11 }, () => openOrder(stack)));
  const rows = await Promise.all(ids.map((id) => findOrder(stack.db, id)));
  const held = await holdSaves(stack, ids.slice(0, 10));
  const saved: string[] = [];
  const changes = rows.map(async (row) => {
    await workflows.change(row!, { event: 'cancel', actor: 'seller', channel: 'api', reason: null });
    saved.push(row!.id);
  });
  const drained = workflows.drain();
  await held.rollback();
  await drained;
  expect(saved.length).toBe(11);
  await Promise.all(changes);
});
