import { timelineOf } from '../support/orders';
import { killProcesses } from '../support/processes';
import { STEPS } from './moments';
import { type Plan, planOf } from './plan';
import { type Scene, createScene } from './scene';

/**
 * Kills the worker during deliveries, at each of their steps. Default: one kill at each step. `CHAOS_SEEDS=50`
 * makes 50 kills; `CHAOS_SEED=17` repeats one of them.
 */
jest.setTimeout(300_000);

const { CHAOS_SEED, CHAOS_SEEDS = STEPS.length } = process.env;
const seeds = CHAOS_SEED ? [Number(CHAOS_SEED)] : Array.from({ length: Number(CHAOS_SEEDS) }, (_, seed) => seed);

interface AttemptRow {
  attempt: number;
  status: number | null;
}
interface Kill {
  moment: string;
  recoveredMs: number;
  duplicates: number;
}
const kills: Kill[] = [];

afterAll(async () => {
  await killProcesses();
  const lines = STEPS.flat().flatMap(({ name }) => {
    const here = kills.filter(({ moment }) => moment === name);
    if (here.length === 0) return [];
    const duplicates = here.reduce((sum, kill) => sum + kill.duplicates, 0);
    const longest = Math.max(...here.map(({ recoveredMs }) => recoveredMs));
    return [`${here.length} when ${name}: ${duplicates} duplicates, recovered in ${Math.round(longest / 1000)} s`];
  });
  process.stdout.write(`${[`${kills.length} kills`, ...lines].join('\n  ')}\n`);
});

// Jest runs five of these at a time. A run mostly waits.
test.concurrent.each(seeds.map(planOf))(
  'all webhooks arrive although the worker is killed when $moment.name (seed $seed)',
  async (plan) => {
    const scene = await createScene(plan);
    try {
      await scene.begin();
      await plan.moment.strike(scene);
      const recoveredMs = await scene.recover();
      let duplicates = 0;
      for (const order of scene.orders) duplicates += await expectDelivered(scene, order, plan);
      kills.push({ moment: plan.moment.name, recoveredMs, duplicates });
    } finally {
      await scene.close();
    }
  },
);

/**
 * Checks that every webhook of an order arrived and that nothing is left pending.
 * @returns how many calls the receiver got in addition to the recorded attempts
 */
async function expectDelivered(scene: Scene, order: string, plan: Plan): Promise<number> {
  const { stack, receiver, victim, target } = scene;
  const events = await scene.eventsOf(order);
  const calls = receiver.calls.filter((call) => call.order === order);
  const isExhausted = (sequence: number): boolean =>
    plan.moment.needs === 'a successor' && order === victim && sequence === target.sequence;

  // Each change happened once. All calls for its webhook have the same id and the same bytes.
  expect((await timelineOf(stack, order)).map(({ event }) => event)).toEqual(['created', ...plan.events]);
  expect(events.map(({ sequence, state }) => ({ sequence, state }))).toEqual(
    plan.events.map((_, index) => ({
      sequence: index + 1,
      state: isExhausted(index + 1) ? 'exhausted' : 'delivered',
    })),
  );
  for (const { id, sequence } of events) {
    const copies = calls.filter((call) => call.sequence === sequence);
    expect(new Set(copies.map((copy) => copy.id))).toEqual(new Set([id]));
    expect(new Set(copies.map(({ text }) => text)).size).toBe(1);
  }

  // All calls, including repeated ones, arrive in order and never overlap.
  const sequences = calls.map(({ sequence }) => sequence);
  expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
  calls.slice(1).forEach((call, index) => expect(call.startedAt).toBeGreaterThanOrEqual(calls[index]!.endedAt));

  // Attempt numbers have no gap, and the last attempt's status matches the event's state.
  for (const { id, state, attempts } of events) {
    const ends = state === 'delivered' ? 200 : 500;
    expect(await attemptsAt(scene, id)).toEqual(
      Array.from({ length: attempts }, (_, index) => ({
        attempt: index + 1,
        status: index + 1 < attempts ? 500 : ends,
      })),
    );
  }

  // Nothing is left to do, or to wait for.
  const { rows } = await stack.db.query('select from order_work where order_id = $1', [order]);
  expect(rows).toEqual([]);

  const duplicates = calls.length - events.reduce((sum, { attempts }) => sum + attempts, 0);
  if (order === victim && plan.moment.duplicates !== undefined) expect(duplicates).toBe(plan.moment.duplicates);
  expect([0, 1]).toContain(duplicates);
  return duplicates;
}

async function attemptsAt({ stack }: Scene, eventId: string): Promise<AttemptRow[]> {
  const { rows } = await stack.db.query<AttemptRow>(
    'select attempt, status from webhook_attempt where event_id = $1 order by attempt',
    [eventId],
  );
  return rows;
}
