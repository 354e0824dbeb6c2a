import assert from 'node:assert/strict';
import { timelineOf } from '../../support/orders';
import { type Plan } from './plan';
import { type Scene, createScene } from './scene';

interface AttemptRow {
  attempt: number;
  status: number | null;
}

export interface KilledDelivery {
  orders: number;
  /** From the kill until every workflow has completed. */
  recoveredMs: number;
}

/**
 * Kills the only worker at the plan's moment of a delivery, and checks that every webhook arrives.
 * @throws AssertionError
 */
export async function killDuringDelivery(plan: Plan): Promise<KilledDelivery> {
  const scene = await createScene(plan);
  try {
    await scene.begin();
    await plan.moment.strike(scene);
    const recoveredMs = await scene.recover();
    for (const order of scene.orders) await assertDelivered(scene, order, plan);
    return { orders: scene.orders.length, recoveredMs };
  } finally {
    await scene.close();
  }
}

/** Asserts that every webhook of an order arrived and that nothing is left pending. */
async function assertDelivered(scene: Scene, order: string, plan: Plan): Promise<void> {
  const { stack, receiver, victim, target } = scene;
  const events = await scene.eventsOf(order);
  const calls = receiver.calls.filter((call) => call.order === order);
  const isExhausted = (sequence: number): boolean =>
    plan.moment.needs === 'a successor' && order === victim && sequence === target.sequence;

  // Each change happened once. All calls for its webhook have the same id and the same bytes.
  assert.deepEqual(
    (await timelineOf(stack, order)).map(({ event }) => event),
    ['created', ...plan.events],
  );
  assert.deepEqual(
    events.map(({ sequence, state }) => ({ sequence, state })),
    plan.events.map((_, index) => ({
      sequence: index + 1,
      state: isExhausted(index + 1) ? 'exhausted' : 'delivered',
    })),
  );
  for (const { id, sequence } of events) {
    const copies = calls.filter((call) => call.sequence === sequence);
    assert.deepEqual(new Set(copies.map((copy) => copy.id)), new Set([id]));
    assert.equal(new Set(copies.map(({ text }) => text)).size, 1);
  }

  // All calls, including repeated ones, arrive in order and never overlap.
  const sequences = calls.map(({ sequence }) => sequence);
  assert.deepEqual(
    sequences,
    sequences.toSorted((a, b) => a - b),
  );
  calls.slice(1).forEach((call, index) => assert.ok(call.startedAt >= calls[index]!.endedAt, 'two calls overlap'));

  // Attempt numbers have no gap, and the last attempt's status matches the event's state.
  for (const { id, state, attempts } of events) {
    const ends = state === 'delivered' ? 200 : 500;
    assert.deepEqual(
      await attemptsAt(scene, id),
      Array.from({ length: attempts }, (_, index) => ({
        attempt: index + 1,
        status: index + 1 < attempts ? 500 : ends,
      })),
    );
  }

  // Calls that repeat an attempt whose result was lost.
  const duplicates = calls.length - events.reduce((sum, { attempts }) => sum + attempts, 0);
  if (order === victim && plan.moment.duplicates !== undefined) assert.equal(duplicates, plan.moment.duplicates);
  assert.ok([0, 1].includes(duplicates), `${duplicates} calls repeat an attempt`);
}

async function attemptsAt({ stack }: Scene, eventId: string): Promise<AttemptRow[]> {
  const { rows } = await stack.db.query<AttemptRow>(
    'select attempt, status from webhook_attempt where event_id = $1 order by attempt',
    [eventId],
  );
  return rows;
}
