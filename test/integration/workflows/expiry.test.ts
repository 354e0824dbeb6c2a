import { findOrder, holdOrder } from '../../../src/db/orders';
import { cancelSignal, customerProgressSignal } from '../../../workflows/messages';
import { acceptVersions, openOrder, refuseVersion, timelineOf } from '../../support/orders';
import { useStack } from '../../support/stack';
import { until } from '../../support/until';

/** Later than any test takes to send the signals that it needs before the expiry. */
const stack = useStack({ env: { ORDER_EXPIRES_AFTER_MS: '5000' } });

const workflow = (id: string) => stack.client.workflow.getHandle(`order-${id}`);
const isExpiring = async (id: string): Promise<boolean> =>
  (await workflow(id).fetchHistory()).events!.some((event) => event.timerFiredEventAttributes);

test('an order that is still open when it expires becomes UNSUCCESSFUL, by the system', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  await workflow(id).result();
  expect((await timelineOf(stack, id)).at(-1)).toMatchObject({
    event: 'expired',
    actor: 'system',
    channel: 'workflow',
    to_status: 'UNSUCCESSFUL',
  });
});

test('an order that nobody touches expires too', async () => {
  const id = await openOrder(stack);
  await workflow(id).result();
  expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual(['created', 'expired']);
});

test('a held order expires when the hold ends, and not before', async () => {
  const id = await openOrder(stack);
  const { expiresAt } = (await findOrder(stack.db, id))!;
  const heldUntil = new Date(Date.parse(expiresAt!) + 3000);
  await holdOrder(stack.db, id, heldUntil);
  await workflow(id).result();
  const { rows } = await stack.db.query<{ at: Date }>(
    `select at from order_timeline where order_id = $1 and event = 'expired'`,
    [id],
  );
  expect(rows[0]!.at.getTime()).toBeGreaterThanOrEqual(heldUntil.getTime());
});

test('a hold that comes while a change is saved is kept', async () => {
  const id = await openOrder(stack);
  await refuseVersion(stack.db, id, 2);
  await workflow(id).signal(customerProgressSignal, { event: 'signup_started' });
  await until(() => isExpiring(id), 'the expiry waits for the change to be saved');
  await holdOrder(stack.db, id, new Date(Date.now() + 86_400_000));
  await acceptVersions(stack.db);
  await until(async () => (await findOrder(stack.db, id))?.version === 2, 'the change is saved');
  expect((await stack.api.cancel(id)).status).toBe(200);
  expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual(['created', 'signup_started', 'cancel']);
});

test('a run that resumes a held order does not expire it', async () => {
  const id = await openOrder(stack);
  await holdOrder(stack.db, id, new Date(Date.now() + 86_400_000));
  await workflow(id).terminate('a test');
  await stack.db.query(`update orders set expires_at = now() - interval '1 hour' where id = $1`, [id]);
  expect((await stack.api.progress(id, 'signup_started')).status).toBe(200);
  expect((await stack.api.cancel(id)).status).toBe(200);
  expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual(['created', 'signup_started', 'cancel']);
});

test('an order that is cancelled just as it expires completes its run', async () => {
  const id = await openOrder(stack);
  await refuseVersion(stack.db, id, 2);
  await workflow(id).signal(cancelSignal);
  await until(() => isExpiring(id), 'the expiry waits for the cancel to be saved');
  await acceptVersions(stack.db);
  expect(await workflow(id).result()).toMatchObject({ status: 'UNSUCCESSFUL', version: 2 });
});
