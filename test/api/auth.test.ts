import { createHash, randomUUID } from 'node:crypto';
import { createCheckoutKey, createSellerKey } from '../../src/db/sellers';
import type { Answer } from '../support/api';
import { BASE } from '../support/api';
import { expectProblem } from '../support/problems';
import type { Stack, TestSeller } from '../support/stack';
import { createSeller, startStack } from '../support/stack';

let stack: Stack;
let other: TestSeller;
let ownOrder: string;
let othersOrder: string;
/** Keys by what is wrong with them. */
const keys: Record<string, string | null> = { none: null, unknown: 'sk_unknown', empty: '' };

beforeAll(async () => {
  stack = await startStack();
  const { db, api, seller } = stack;
  other = await createSeller(db);
  othersOrder = (await createFor(other)).body.data.id;
  keys.seller = seller.key;
  keys.checkout = api.checkoutKey;
  keys['revoked seller'] = await createSellerKey(db, seller.id);
  keys['revoked checkout'] = await createCheckoutKey(db);
  for (const kind of ['revoked seller', 'revoked checkout']) {
    await db.query('update api_key set revoked_at = now() where digest = $1', [digestOf(keys[kind]!)]);
  }
  const disabled = await createSeller(db);
  await db.query('update seller set disabled_at = now() where id = $1', [disabled.id]);
  keys['disabled seller'] = disabled.key;
  keys['almost right'] = seller.key.slice(0, -1) + (seller.key.endsWith('A') ? 'B' : 'A');
  keys['digest of a'] = digestOf(seller.key).toString('hex');
});
beforeEach(async () => {
  ownOrder = (await createFor(stack.seller)).body.data.id;
});
afterAll(() => stack.stop());

const digestOf = (key: string) => createHash('sha256').update(key).digest();

const createFor = (seller: TestSeller) =>
  stack.api.call('POST', `${BASE}/seller/${seller.id}/order/`, {
    key: seller.key,
    body: { data: { amount: 1, reference: randomUUID() } },
  });

type Whose = 'own' | "another's" | 'missing' | 'malformed';
const WHOSE: Whose[] = ['own', "another's", 'missing', 'malformed'];

interface Endpoint {
  kind: 'seller' | 'checkout';
  path: (whose: Whose) => string;
  body?: () => unknown;
  ok: number;
}

const sellerId = (whose: Whose) =>
  ({ own: stack.seller.id, "another's": other.id, missing: randomUUID(), malformed: 'not-an-id' })[whose];
const orderId = (whose: Whose) =>
  ({ own: ownOrder, "another's": othersOrder, missing: randomUUID(), malformed: 'not-an-id' })[whose];
const newOrder = () => ({ data: { amount: 1, reference: randomUUID() } });

const ENDPOINTS: Record<string, Endpoint> = {
  'POST /seller/:seller/order/': {
    kind: 'seller',
    path: (whose) => `/seller/${sellerId(whose)}/order/`,
    body: newOrder,
    ok: 201,
  },
  'GET /order/:id/': { kind: 'seller', path: (whose) => `/order/${orderId(whose)}/`, ok: 200 },
  'DELETE /order/:id/': { kind: 'seller', path: (whose) => `/order/${orderId(whose)}/`, ok: 200 },
  'GET /seller/:own/order/:id/': {
    kind: 'seller',
    path: (whose) => `/seller/${stack.seller.id}/order/${orderId(whose)}/`,
    ok: 200,
  },
  'DELETE /seller/:own/order/:id/': {
    kind: 'seller',
    path: (whose) => `/seller/${stack.seller.id}/order/${orderId(whose)}/`,
    ok: 200,
  },
  'GET /seller/:seller/order/:own/': {
    kind: 'seller',
    path: (whose) => `/seller/${sellerId(whose)}/order/${orderId('own')}/`,
    ok: 200,
  },
  'DELETE /seller/:seller/order/:own/': {
    kind: 'seller',
    path: (whose) => `/seller/${sellerId(whose)}/order/${orderId('own')}/`,
    ok: 200,
  },
  'GET /seller/:seller/connection_check/': {
    kind: 'seller',
    path: (whose) => `/seller/${sellerId(whose)}/connection_check/`,
    ok: 200,
  },
  'POST /order/:id/progress/': {
    kind: 'checkout',
    path: (whose) => `/order/${orderId(whose)}/progress/`,
    body: () => ({ data: { event: 'signup_started' } }),
    ok: 200,
  },
};

async function call(name: string, whose: Whose, key: string | null): Promise<Answer> {
  const { path, body } = ENDPOINTS[name]!;
  const method = name.split(' ')[0]!;
  return stack.api.call(method, BASE + path(whose), { key, ...(body && { body: body() }) });
}

/** All of an answer but what names the request: if two are the same, a caller cannot tell them apart. */
function seen({ status, headers, body }: Answer): unknown {
  const shown = [...headers].filter(
    ([name]) => !['date', 'x-request-id', 'content-length', 'ratelimit'].includes(name),
  );
  return { status, shown, body: JSON.stringify({ ...body, request_id: '', instance: '' }) };
}

describe.each(Object.entries(ENDPOINTS))('%s', (name, { kind, ok }) => {
  test(`serves a live ${kind} key`, async () => {
    expect((await call(name, 'own', keys[kind]!)).status).toBe(ok);
  });

  test('answers 401 to every other key, and the same to each, whatever it asks for', async () => {
    const wrong = Object.keys(keys).filter((one) => one !== kind);
    const answers = await Promise.all(
      wrong.flatMap((one) => WHOSE.map(async (whose) => call(name, whose, keys[one]!))),
    );
    expect(answers).toHaveLength(4 * (Object.keys(keys).length - 1));
    for (const answer of answers) {
      expectProblem(answer, 401, 'unauthorized');
      expect(answer.headers.get('WWW-Authenticate')).toBe('Bearer');
      expect(seen(answer)).toEqual(seen(answers[0]!));
    }
  });

  if (kind === 'seller') {
    test('answers 404 to what is another’s, missing or no id at all, and the same to each', async () => {
      const [others, missing, malformed] = await Promise.all(
        (["another's", 'missing', 'malformed'] as const).map((whose) => call(name, whose, keys.seller!)),
      );
      expectProblem(others!, 404, 'not_found');
      expect(seen(missing!)).toEqual(seen(others!));
      expect(seen(malformed!)).toEqual(seen(others!));
      expect(others!.text.length).toBe(missing!.text.length);
    });
  } else {
    test('serves the orders of every seller, and answers 404 to what is missing', async () => {
      expect((await call(name, "another's", keys.checkout!)).status).toBe(ok);
      expectProblem(await call(name, 'missing', keys.checkout!), 404, 'not_found');
      expectProblem(await call(name, 'malformed', keys.checkout!), 404, 'not_found');
    });
  }
});

test('another’s order is neither shown nor changed by the wrong calls', async () => {
  const mine = await stack.api.get(othersOrder);
  expect(mine.text).not.toContain('Test Shop');
  await stack.api.cancel(othersOrder);
  const { rows } = await stack.db.query('select cancelled_at from orders where id = $1', [othersOrder]);
  expect(rows).toEqual([{ cancelled_at: null }]);
  expect((await stack.api.get(othersOrder, { key: other.key })).status).toBe(200);
});

test.each([
  ['000000000-0000-4000-8000-000000000000'],
  ['00000000-0000-4000-8000-00000000000'],
  ['00000000-0000-4000-8000-00000000000g'],
  ['00000000000040008000000000000000'],
  ['%7B00000000-0000-4000-8000-000000000000%7D'],
  ['%00'],
  ["'%20or%201=1--"],
  ['..%2f..%2fhealth%2flive'],
  ['%ff%fe'],
  ['1'],
  ['undefined'],
  ['x'.repeat(5000)],
])('%s is no id of an order: 404', async (id) => {
  expectProblem(await stack.api.get(id), 404, 'not_found');
  expectProblem(await stack.api.cancel(id), 404, 'not_found');
});

describe('the Authorization header', () => {
  const get = (authorization: string) =>
    stack.api.get(ownOrder, { key: null, headers: { Authorization: authorization } });

  test('may spell Bearer as it likes', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER', 'Bearer  ']) {
      expect((await get(`${scheme} ${stack.seller.key}`)).status).toBe(200);
    }
  });

  test('must be a Bearer one, with the key alone', async () => {
    const { key, id } = stack.seller;
    const basic = Buffer.from(`${id}:${key}`).toString('base64');
    for (const header of [
      key,
      `Token ${key}`,
      `Basic ${basic}`,
      `Bearer ${key} x`,
      `Bearer "${key}"`,
      'Bearer',
      `Bearer,${key}`,
    ]) {
      expectProblem(await get(header), 401, 'unauthorized');
    }
  });

  test('may hold anything without harm', async () => {
    for (const key of ["' or 1=1 --", '%00', 'x'.repeat(10_000), '\u00e9', '${jndi:ldap://x}']) {
      expectProblem(await get(`Bearer ${key}`), 401, 'unauthorized');
    }
  });

  test('counts, not a key in the address', async () => {
    const { api, seller } = stack;
    const path = `${BASE}/seller/${seller.id}/connection_check/?key=${seller.key}&access_token=${seller.key}`;
    const answer = await api.call('GET', path, { key: null });
    expectProblem(answer, 401, 'unauthorized');
    expect(answer.text).not.toContain(seller.key);
  });
});

test('several keys of a seller are live at once, and a revoked one stops at the next call', async () => {
  const { api, db, seller } = stack;
  const second = await createSellerKey(db, seller.id);
  const path = `${BASE}/seller/${seller.id}/connection_check/`;
  const statuses = async () => [
    (await api.call('GET', path)).status,
    (await api.call('GET', path, { key: second })).status,
  ];
  expect(await statuses()).toEqual([200, 200]);
  await db.query('update api_key set revoked_at = now() where digest = $1', [digestOf(second)]);
  expect(await statuses()).toEqual([200, 401]);
});

test('a seller’s id is known in capitals too', async () => {
  const { api, seller } = stack;
  expect((await api.call('GET', `${BASE}/seller/${seller.id.toUpperCase()}/connection_check/`)).status).toBe(200);
});
