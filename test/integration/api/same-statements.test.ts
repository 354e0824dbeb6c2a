import { missingThings, pathOf, type Things, thingsOf } from '../../support/accounts';
import { MATRIX, parametersOf, type Whose } from '../../support/authorization-matrix';
import { createSeller, useStack } from '../../support/stack';
import { onStatement } from '../../support/statements';

const stack = useStack({ sandbox: true });
let things: Record<Whose, Things>;
let statements: { text: string; values: unknown[] }[];

beforeAll(async () => {
  const others = await thingsOf(stack, await createSeller(stack.db));
  const own = await thingsOf(stack, stack.seller);
  things = { own, "another's": others, missing: missingThings(), malformed: missingThings() };
  // Only the API then makes statements.
  await stack.stopWorker();
});

beforeEach(() => {
  statements = [];
  onStatement((statement) => statements.push(statement));
});
afterEach(() => jest.restoreAllMocks());

/** Makes a call that gets a 404, and returns the statements with an id of what it is about. */
async function statementsFor(route: string, parameter: string, whose: Whose): Promise<string[]> {
  statements.length = 0;
  const body = MATRIX[route]!.body?.();
  const path = pathOf(route, things, whose, parameter);
  const { status } = await stack.api.call(route.split(' ')[0]!, path, body === undefined ? {} : { body });
  expect(status).toBe(404);
  const ids = new Set<unknown>(Object.values(things[whose]));
  return statements.filter(({ values }) => values.flat().some((value) => ids.has(value))).map(({ text }) => text);
}

const ROUTES = Object.entries(MATRIX)
  .filter(([, { kind }]) => kind === 'seller')
  .flatMap(([route]) => parametersOf(route).map((parameter): [string, string] => [route, parameter]));

// Otherwise the response time could reveal that another seller has it.
test.each(ROUTES)(
  '%s makes the same statements for another seller’s :%s as for a missing one',
  async (route, parameter) => {
    const missing = await statementsFor(route, parameter, 'missing');
    expect(await statementsFor(route, parameter, "another's")).toEqual(missing);
    expect(await statementsFor(route, parameter, 'missing')).toEqual(missing);
  },
);

test('the statements of a call are recorded', async () => {
  const route = ROUTES.find(([name]) => /^GET .*edge\/ecommerce\/order\/:orderId$/.test(name))!;
  expect((await statementsFor(...route, 'missing')).join()).toContain('orders');
});
