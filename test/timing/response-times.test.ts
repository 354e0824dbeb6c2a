import { missingThings, MALFORMED, pathOf, thingsOf, type Things } from '../support/accounts';
import { MATRIX, parametersOf, type Whose } from '../support/authorization-matrix';
import { createSeller, useStack } from '../support/stack';

/** Calls per route and parameter: more on a machine so noisy that fewer do not show a missing query. */
let calls = Number(process.env.TIMING_CALLS ?? 200);
const MAX_CALLS = 8000;
/** A z-score that chance alone exceeds once in 1.7 million samples. */
const SIGNIFICANT_Z = 5;
const SETS = 5;

jest.setTimeout(300_000);

const stack = useStack();
let sets: Record<Whose, Things>[];
beforeAll(async () => {
  const own = await thingsOf(stack, stack.seller);
  sets = [];
  for (let count = 0; count < SETS; count++) {
    const others = await thingsOf(stack, await createSeller(stack.db));
    sets.push({ own, "another's": others, missing: missingThings(), malformed: MALFORMED });
  }
});

/** Durations in ms of two kinds of calls. */
type Samples = [number[], number[]];

/** Returns the duration of one call in ms. */
async function time(route: string, parameter: string, whose: Whose, index: number): Promise<number> {
  const body = MATRIX[route]!.body?.();
  const path = pathOf(route, sets[index % SETS]!, whose, parameter);
  const start = performance.now();
  const { status } = await stack.api.call(route.split(' ')[0]!, path, body === undefined ? {} : { body });
  const duration = performance.now() - start;
  expect(status).toBe(404);
  return duration;
}

/** Times two kinds of calls one at a time. Their order is random, so load on the machine affects both kinds alike. */
async function sample(
  samples: Samples,
  route: string,
  parameter: string,
  kinds: [Whose, Whose],
  count: number,
): Promise<void> {
  const shuffled = Array.from({ length: count }, (_, index) => ({ index, rank: Math.random() })).sort(
    (a, b) => a.rank - b.rank,
  );
  for (const { index } of shuffled) {
    const side = (index % 2) as 0 | 1;
    samples[side].push(await time(route, parameter, kinds[side], Math.floor(index / 2)));
  }
}

/** Mann-Whitney U test: the z-score of the ranks of `a` if `a` and `b` have the same distribution. */
function mannWhitneyZ(a: number[], b: number[]): number {
  const sorted = [...a.map((value) => ({ value, own: true })), ...b.map((value) => ({ value, own: false }))].sort(
    (x, y) => x.value - y.value,
  );
  const ranks = sorted.reduce((sum, { own }, index) => sum + (own ? index + 1 : 0), 0);
  if (a.length === 0 || b.length === 0) return 0;
  const u = ranks - (a.length * (a.length + 1)) / 2;
  const mean = (a.length * b.length) / 2;
  return (u - mean) / Math.sqrt((a.length * b.length * (a.length + b.length + 1)) / 12);
}

const ROUTES = Object.entries(MATRIX)
  .filter(([, { kind }]) => kind === 'seller')
  .flatMap(([route]) => parametersOf(route).map((parameter): [string, string] => [route, parameter]));

const GET_ORDER = ROUTES.find(([route]) => /^GET .*edge\/ecommerce\/order\/:orderId$/.test(route))!;

test('the measurement detects a call that makes one query less', async () => {
  const samples: Samples = [[], []];
  await sample(samples, ...GET_ORDER, ['missing', 'malformed'], calls);
  for (; calls < MAX_CALLS && mannWhitneyZ(...samples) <= SIGNIFICANT_Z; calls += 200) {
    await sample(samples, ...GET_ORDER, ['missing', 'malformed'], 200);
  }
  expect(mannWhitneyZ(...samples)).toBeGreaterThan(SIGNIFICANT_Z);
});

test.each(ROUTES)('%s takes the same time for another seller’s :%s as for a missing one', async (route, parameter) => {
  const samples: Samples = [[], []];
  await sample(samples, route, parameter, ["another's", 'missing'], calls);
  const z = mannWhitneyZ(...samples);
  if (calls >= 2000) console.log(`${route} :${parameter}, ${calls} calls: z = ${z.toFixed(2)}`);
  expect(Math.abs(z)).toBeLessThan(SIGNIFICANT_Z);
});
