import { temporal } from '@temporalio/proto';
import { type Db, inTransaction } from '../../../src/db/pool';
import { statementsWaiting } from '../../support/database';
import { openOrder } from '../../support/orders';
import { until } from '../../support/until';
import type { Scene } from './scene';

const SCHEDULED = temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED;
const LOCK_ORDER = 'select from orders where id = $1 for update';
const LOCK_EVENT = 'select from webhook_event where order_id = $1 and sequence = $2 for update';

export async function requested({ receiver, target, victim, report, kill }: Scene): Promise<void> {
  const held = receiver.hold(target);
  report(victim);
  await held;
  await kill();
}

export async function responded(scene: Scene): Promise<void> {
  await whileRecordWaits(scene, () => scene.kill());
}

export async function recorded(scene: Scene): Promise<void> {
  const { proxy, target, eventOf, kill } = scene;
  await whileRecordWaits(scene, () => proxy.blackHole());
  await until(async () => (await eventOf(target.sequence))?.attempts === target.nth, 'the attempt is recorded');
  await kill();
}

export async function underLoad({ receiver, victim, report, kill }: Scene): Promise<void> {
  report(victim);
  await until(() => receiver.calls.some(({ order }) => order !== victim), 'the first calls have arrived');
  await kill();
}

export async function savedOnly({ stack: { db }, proxy, target, victim, eventOf, report, kill }: Scene): Promise<void> {
  await inTransaction(db, async (client) => {
    await client.query(LOCK_ORDER, [victim]);
    report(victim);
    await waiting(db, 'with saved as', 1);
    proxy.blackHole();
  });
  await until(() => eventOf(target.sequence), 'the change is saved');
  await kill();
}

export async function unstarted({ stack, receiver, orders, victim, report, kill }: Scene): Promise<void> {
  const other = await openOrder(stack, { webhook_url: receiver.url });
  orders.push(other);
  const held = receiver.hold({ order: other, sequence: 1, nth: 1 });
  report(other);
  await held;
  report(victim);
  await until(async () => {
    const { raw } = await stack.client.workflow.getHandle(`order-${victim}`).describe();
    return raw.pendingActivities?.some(
      ({ activityType, state }) => activityType?.name === 'sendWebhook' && state === SCHEDULED,
    );
  }, 'the attempt waits for a worker slot');
  await kill();
}

export async function backingOff({ target, victim, eventOf, report, kill }: Scene): Promise<void> {
  report(victim);
  await until(async () => (await eventOf(target.sequence))?.attempts === target.nth, 'an attempt has failed');
  await kill();
}

export async function yielding(scene: Scene): Promise<void> {
  await whileYielding(scene, () => scene.kill());
}

export async function yielded(scene: Scene): Promise<void> {
  const { proxy, target, eventOf, kill } = scene;
  await whileYielding(scene, () => proxy.blackHole());
  await until(async () => (await eventOf(target.sequence))?.state === 'exhausted', 'the webhook has yielded');
  await kill();
}

async function whileRecordWaits(scene: Scene, work: () => Promise<void> | void): Promise<void> {
  const { stack, receiver, target, victim, report } = scene;
  const held = receiver.hold(target);
  report(victim);
  const answer = await held;
  await inTransaction(stack.db, async (client) => {
    await client.query(LOCK_EVENT, [victim, target.sequence]);
    answer();
    await waiting(stack.db, 'insert into webhook_attempt', 1);
    await work();
  });
}

async function whileYielding(scene: Scene, work: () => Promise<void> | void): Promise<void> {
  const { stack, target, victim, eventOf, report } = scene;
  report(victim, target.sequence);
  await until(
    async () => (await eventOf(target.sequence))?.attempts === target.nth,
    'the attempts before the yield have failed',
  );
  await inTransaction(stack.db, async (client) => {
    await client.query(LOCK_EVENT, [victim, target.sequence]);
    report(victim);
    await waiting(stack.db, `state = 'exhausted'`, 1);
    await work();
  });
}

async function waiting(db: Db, part: string, count: number): Promise<void> {
  await until(async () => (await statementsWaiting(db, part)) === count, `${count} of "${part}" wait for a lock`);
}
