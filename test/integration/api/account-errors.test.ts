import { randomUUID } from 'node:crypto';
import { updateSeller } from '../../../src/db/sellers';
import { createSellerKey } from '../../support/keys';
import { BASE } from '../../support/api';
import { expectProblem, pointers } from '../../support/problems';
import { createSeller } from '../../support/stack';
import { useSharedStack } from '../../support/shared-stack';

const stack = useSharedStack();
const newSeller = (defaultRedirectUrl?: string | null) => createSeller(stack.db, defaultRedirectUrl, { sandbox: true });

/** The API remembers the account of a key for a second, and has not seen this one. */
const newKey = (sellerId: string): Promise<string> => createSellerKey(stack.db, sellerId);

test("a seller's own amount limit applies to its new orders only, and never exceeds the service's limit", async () => {
  const limited = await newSeller();
  const create = async (amount: number) =>
    stack.api.call('POST', `${BASE}/seller/${limited.id}/order/`, {
      key: await newKey(limited.id),
      body: { data: { amount, reference: randomUUID() } },
    });
  expect((await create(500.01)).status).toBe(201);
  await updateSeller(stack.db, limited.id, { maxOrderAmountPence: 50_000 });
  expect((await create(500)).status).toBe(201);
  const problem = expectProblem(await create(500.01), 422, 'invalid_request');
  expect(pointers(problem)).toEqual(['/data/amount too_big']);
  expect(problem.detail).toBe('/data/amount must be at most £500.00, the limit of your account.');
  expect((await stack.api.create({ amount: 500.01 })).status).toBe(201);

  await updateSeller(stack.db, limited.id, { maxOrderAmountPence: 2_000_000_000 });
  expectProblem(await create(10_000_000.01), 422, 'invalid_request');
  await updateSeller(stack.db, limited.id, { maxOrderAmountPence: null });
  expect((await create(1000)).status).toBe(201);
});

test.each([
  ['its amount now exceeds the limit', { maxOrderAmountPence: 49_999 }],
  ['the default redirect URL it used was removed', { defaultRedirectUrl: null }],
])('a repeated Idempotency-Key returns the order even if %s', async (_, change) => {
  const seller = await newSeller();
  const reference = randomUUID();
  const create = async (key: string, amount = 500) =>
    stack.api.call('POST', `${BASE}/seller/${seller.id}/order/`, {
      key: await newKey(seller.id),
      headers: { 'Idempotency-Key': key },
      body: { data: { amount, reference } },
    });
  const first = await create('cart-1');
  await updateSeller(stack.db, seller.id, change);
  const again = await create('cart-1');
  expect(again.status).toBe(201);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(again.text).toBe(first.text);
  expectProblem(await create('cart-1', 501), 422, 'idempotency_key_reused');
  expectProblem(await create('cart-2'), 422, 'invalid_request');
});

test('errors from account settings are reported with all other errors, one error for each field', async () => {
  const seller = await newSeller(null);
  await updateSeller(stack.db, seller.id, { maxOrderAmountPence: 50_000 });
  const errorsOf = async (body: unknown) => {
    const response = await stack.api.call('POST', `${BASE}/seller/${seller.id}/order/`, { key: seller.key, body });
    return pointers(expectProblem(response, 422, 'invalid_request'));
  };
  const required = '/data/redirect_url required';
  expect(await errorsOf({ data: { amount: 501, reference: '' } })).toEqual([
    '/data/amount too_big',
    '/data/reference too_small',
    required,
  ]);
  expect(await errorsOf({ data: { amount: 501, reference: 'a', redirect_url: null } })).toEqual([
    '/data/amount too_big',
    required,
  ]);
  expect(await errorsOf({ data: { amount: 1001, reference: 'a', redirect_url: 'x' } })).toEqual([
    '/data/amount too_big',
    '/data/redirect_url invalid_url',
  ]);
  expect(await errorsOf({ data: { amount: '501' } })).toEqual([
    '/data/amount invalid_type',
    '/data/reference required',
    required,
  ]);
  const unknown = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`field_${index}`, 1]));
  expect(await errorsOf({ data: { amount: 501, reference: 'a', ...unknown } })).toHaveLength(50);
});
