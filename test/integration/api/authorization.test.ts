import { keysOf, MALFORMED, missingThings, pathOf, type Things, thingsOf } from '../../support/accounts';
import type { ApiResponse } from '../../support/api';
import { MATRIX, OPEN, parametersOf, WHOSE, type Whose } from '../../support/authorization-matrix';
import { expectProblem } from '../../support/problems';
import { apiRoutes } from '../../support/routes';
import { useSharedStack } from '../../support/shared-stack';
import { createSeller } from '../../support/stack';

const stack = useSharedStack();
let things: Record<Whose, Things>;
let keys: Record<string, string | null>;
beforeAll(async () => {
  things = {
    own: await thingsOf(stack, stack.seller),
    "another's": await thingsOf(stack, await createSeller(stack.db, undefined, { sandbox: true })),
    missing: missingThings(),
    malformed: MALFORMED,
  };
  keys = await keysOf(stack);
});

function call(route: string, whose: Whose, parameter: string, key: string | null): Promise<ApiResponse> {
  const body = MATRIX[route]!.body?.();
  return stack.api.call(route.split(' ')[0]!, pathOf(route, things, whose, parameter), {
    key,
    ...(body !== undefined && { body }),
  });
}

/** The response without the parts that identify the request or its connection. If two are equal, a caller cannot distinguish them. */
function seen({ status, headers, body }: ApiResponse): unknown {
  const ignored = ['date', 'x-request-id', 'content-length', 'ratelimit', 'connection', 'keep-alive'];
  const shown = [...headers].filter(([name]) => !ignored.includes(name));
  return { status, shown, body: JSON.stringify({ ...body, request_id: '', instance: '' }) };
}

test('every route has an entry in the authorization matrix, and every entry has a route', () => {
  expect(apiRoutes().sort()).toEqual([...Object.keys(MATRIX), ...Object.keys(OPEN)].sort());
});

describe.each(Object.entries(MATRIX))('%s', (route, { kind, ok }) => {
  const parameters = parametersOf(route);

  test(`accepts a valid ${kind} key`, async () => {
    expect((await call(route, 'own', '', keys[kind]!)).status).toBe(ok);
  });

  test('returns the same 401 for every resource to a wrong key', async () => {
    const places = parameters.flatMap((parameter) => WHOSE.map((whose) => ({ parameter, whose })));
    for (const name of Object.keys(keys).filter((other) => other !== kind)) {
      const responses = await Promise.all(
        places.map(({ parameter, whose }) => call(route, whose, parameter, keys[name]!)),
      );
      for (const response of responses) {
        expectProblem(response, 401, 'unauthorized');
        expect(response.headers.get('WWW-Authenticate')).toBe('Bearer');
        expect(seen(response)).toEqual(seen(responses[0]!));
      }
    }
  });

  test.each(parameters)(
    'returns the same 404 if its :%s is missing or of another seller, and says so if it is malformed',
    async (parameter) => {
      const missing = await call(route, 'missing', parameter, keys[kind]!);
      expectProblem(missing, 404, 'not_found');
      const malformed = await call(route, 'malformed', parameter, keys[kind]!);
      expect(expectProblem(malformed, 404, 'not_found').detail).toContain(' in the path is not a UUID. ');
      const others = await call(route, "another's", parameter, keys[kind]!);
      if (kind === 'checkout') {
        expect(others.status).toBe(ok);
        return;
      }
      expect(seen(others)).toEqual(seen(missing));
      expect(others.headers.get('Content-Length')).toBe(missing.headers.get('Content-Length'));
    },
  );
});

test('no refused call changed anything of another seller', async () => {
  const { orderId, webhookId, sellerId } = things["another's"];
  const { rows: orders } = await stack.db.query('select status, version from orders where id = $1', [orderId]);
  expect(orders).toEqual([{ status: 'UNSUCCESSFUL', version: 2 }]);
  const cancels = await stack.db.query(`select from order_timeline where order_id = $1 and event = 'cancel'`, [
    orderId,
  ]);
  expect(cancels.rowCount).toBe(0);
  const resends = await stack.db.query('select from webhook_attempt where event_id = $1 and step is null', [webhookId]);
  expect(resends.rowCount).toBe(0);
  const count = async (table: string) =>
    (await stack.db.query(`select from ${table} where seller_id = $1`, [sellerId])).rowCount;
  expect([await count('orders'), await count('webhook_secret')]).toEqual([1, 1]);
});
