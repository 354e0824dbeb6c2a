import { timelineOf } from '../support/orders';
import { killProcesses } from '../support/processes';
import { STEPS } from './moments';
import type { Plan } from './plan';
import { planOf } from './plan';
import type { Scene } from './scene';
import { setScene } from './scene';

/**
 * The worker is killed in the middle of deliveries, at each of their steps. By default each step once; `CHAOS_SEEDS=50`
 * for the full run, `CHAOS_SEED=17` to repeat one.
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
  healedMs: number;
  duplicates: number;
}
const kills: Kill[] = [];

afterAll(async () => {
  await killProcesses();
  const lines = STEPS.flat().flatMap(({ name }) => {
    const there = kills.filter(({ moment }) => moment === name);
    if (there.length === 0) return [];
    const duplicates = there.reduce((sum, kill) => sum + kill.duplicates, 0);
    const longest = Math.max(...there.map(({ healedMs }) => healedMs));
    return [`${there.length} when ${name}: ${duplicates} duplicates, healed in ${Math.round(longest / 1000)} s`];
  });
  process.stdout.write(`${[`${kills.length} kills`, ...lines].join('\n  ')}\n`);
});

// Five at a time: most of a run is waiting.
test.concurrent.each(seeds.map(planOf))(
  'seed $seed: killed when $moment.name, all webhooks come through',
  async (plan) => {
    const scene = await setScene(plan);
    try {
      await scene.begin();
      await plan.moment.strike(scene);
      const healedMs = await scene.heal();
      let duplicates = 0;
      for (const order of scene.orders) duplicates += await expectThrough(scene, order, plan);
      kills.push({ moment: plan.moment.name, healedMs, duplicates });
    } finally {
      await scene.close();
    }
  },
);

/** @returns how many calls the receiver got beside the attempts that are written down */
async function expectThrough(scene: Scene, order: string, plan: Plan): Promise<number> {
  const { stack, receiver, victim, target } = scene;
  const events = await scene.eventsOf(order);
  const calls = receiver.calls.filter((call) => call.order === order);
  const isGivenUp = (sequence: number): boolean =>
    plan.moment.needs === 'to give way' && order === victim && sequence === target.sequence;

  // Each change was made once, and is told by one webhook under one id with the same bytes.
  expect((await timelineOf(stack, order)).map(({ event }) => event)).toEqual(['created', ...plan.events]);
  expect(events.map(({ sequence, state }) => ({ sequence, state }))).toEqual(
    plan.events.map((_, index) => ({
      sequence: index + 1,
      state: isGivenUp(index + 1) ? 'exhausted' : 'delivered',
    })),
  );
  for (const { id, sequence } of events) {
    const copies = calls.filter((call) => call.sequence === sequence);
    expect(new Set(copies.map((copy) => copy.id))).toEqual(new Set([id]));
    expect(new Set(copies.map(({ text }) => text)).size).toBe(1);
  }

  // In order, also the repeated ones, and one at a time.
  const sequences = calls.map(({ sequence }) => sequence);
  expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
  calls.slice(1).forEach((call, index) => expect(call.startedAt).toBeGreaterThanOrEqual(calls[index]!.endedAt));

  // The attempts are numbered without a gap, and the last one says what became of the event.
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
