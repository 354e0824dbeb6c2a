import { randomUUID } from 'node:crypto';
import { repaymentExampleSchema } from '../../../src/contracts/order-schemas';
import { updateSeller } from '../../../src/db/sellers';
import { BASE } from '../../support/api';
import { customerAt } from '../../support/checkout';
import { expectProblem } from '../../support/problems';
import { useSharedStack } from '../../support/shared-stack';
import { createSeller } from '../../support/stack';

const stack = useSharedStack();

const example = (query: string, sellerId = stack.seller.id, key: string | null = null) =>
  stack.api.call('GET', `${BASE}/seller/${sellerId}/repayment_example/${query}`, { key });

const sandboxSeller = () => createSeller(stack.db, undefined, { sandbox: true });

test("a page without a key gets the lender's repayments of an amount, and may cache them", async () => {
  const { status, headers, body } = await example('?amount=1234.50');
  expect([status, repaymentExampleSchema.strict().parse(body.data)]).toEqual([200, body.data]);
  expect(body.data).toEqual({
    amount: 1234.5,
    instalments: [1, 2, 3].map((month) => ({ due_in_months: month, amount: 411.5 })),
    total_amount: 1234.5,
    annual_interest: 0,
  });
  expect(headers.get('Cache-Control')).toBe('public, max-age=300');
  expect(headers.get('Access-Control-Allow-Origin')).toBe('*');
});

test("the example follows the seller's pricing, as the checkout shows it", async () => {
  const seller = await sandboxSeller();
  const pricing = {
    representativeInterest: 12,
    promotions: [{ name: 'One month free', interestFreeDays: 30, validUntil: '2999-01-31' }],
  };
  await updateSeller(stack.db, seller.id, { pricing });
  const { data } = (await example('?amount=300', seller.id)).body;
  expect(data).toMatchObject({
    annual_interest: 12,
    promotion: { name: 'One month free', interest_free_days: 30 },
  });
  expect(data.total_amount).toBeGreaterThan(300);
  const sum = data.instalments.reduce((total: number, { amount }: any) => total + Math.round(amount * 100), 0);
  expect(sum).toBe(Math.round(data.total_amount * 100));
  const created = await stack.api.call('POST', `${BASE}/seller/${seller.id}/order/`, {
    key: seller.key,
    body: { data: { amount: 300, reference: randomUUID() } },
  });
  const { text } = await customerAt(created.body.data.order_url).look();
  expect(text).toContain(`£${data.total_amount.toFixed(2)}`);
});

test('a seller that is missing, malformed, disabled or without a lender gets the same 404', async () => {
  const disabled = await sandboxSeller();
  await stack.db.query('update seller set disabled_at = now() where id = $1', [disabled.id]);
  const live = await createSeller(stack.db);
  for (const id of [randomUUID(), 'not-an-id', disabled.id, live.id]) {
    const response = await example('?amount=10', id);
    expect(expectProblem(response, 404, 'not_found').detail).toBe('No seller with repayments has this ID.');
    expect(response.headers.get('Cache-Control')).toBe('no-store');
  }
});

test.each([
  ['', 'required'],
  ['?amount=', 'invalid_format'],
  ['?amount=-1', 'invalid_format'],
  ['?amount=1.005', 'invalid_format'],
  ['?amount=0', 'too_small'],
  ['?amount=10000000.01', 'too_big'],
  ['?amount=1&amount=2', 'invalid_type'],
])('refuses %s', async (query, code) => {
  const response = await example(query);
  expect(expectProblem(response, 422, 'invalid_request').errors).toMatchObject([{ code, parameter: 'amount' }]);
  // The page of the shop can read the error.
  expect(response.headers.get('Access-Control-Allow-Origin')).toBe('*');
});

test("refuses an amount above the account's maximum", async () => {
  const seller = await sandboxSeller();
  await updateSeller(stack.db, seller.id, { maxOrderAmountPence: 50_000 });
  expect((await example('?amount=500', seller.id)).status).toBe(200);
  const { errors } = expectProblem(await example('?amount=500.01', seller.id), 422, 'invalid_request');
  expect(errors).toEqual([
    { code: 'too_big', detail: 'must be at most £500.00, the limit of the account', parameter: 'amount' },
  ]);
});

test('a call without a key counts against the limit of its address, and one with a key against that of the key', async () => {
  const limitsOf = async (key: string | null) => (await example('?amount=1', undefined, key)).headers.get('RateLimit');
  expect(await limitsOf(null)).toMatch(/^"address";/);
  expect(await limitsOf(stack.seller.key)).toMatch(/^"key";/);
});

describe('a page of any origin', () => {
  const path = `${BASE}/seller/${randomUUID()}/repayment_example/`;
  const asked = 'traceparent,sentry-trace,x-requested-with,content-type,cache-control';

  test.each([path, path.slice(0, -1)])('may ask %s with the headers that it adds', async (asking) => {
    const headers = { Origin: 'https://shop.example', 'Access-Control-Request-Method': 'GET' };
    const { status, headers: got } = await stack.api.call('OPTIONS', asking, {
      key: null,
      headers: { ...headers, 'Access-Control-Request-Headers': asked },
    });
    expect(status).toBe(204);
    expect(got.get('Access-Control-Allow-Origin')).toBe('*');
    expect(got.get('Access-Control-Allow-Methods')).toBe('GET, HEAD');
    expect(got.get('Access-Control-Allow-Headers')).toBe(asked);
    expect(got.get('Access-Control-Max-Age')).toBe('86400');
  });

  test('can read the error of a wrong method', async () => {
    const response = await stack.api.call('POST', path, { key: null });
    expect([response.status, response.headers.get('Access-Control-Allow-Origin')]).toEqual([405, '*']);
  });

  test('is not let into any other path', async () => {
    const order = `${BASE}/order/${randomUUID()}/`;
    const { headers } = await stack.api.call('OPTIONS', order, { key: null });
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});
