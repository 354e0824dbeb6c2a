import { apiOf } from '../../support/api';
import { openOrder } from '../../support/orders';
import { expectProblem, pointers } from '../../support/problems';
import { createSeller, type Stack, startStack } from '../../support/stack';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

test('a reference that is taken is answered 409 with the order that has it', async () => {
  const { id, order_url } = (await stack.api.create({ reference: 'taken', amount: 5.07 })).body.data;
  const problem = expectProblem(await stack.api.create({ reference: 'taken', amount: 7 }), 409, 'duplicate_reference');
  expect(problem).toMatchObject({ order_id: id, order_url, order_status: 'CREATED', order_amount: 5.07 });
  expect(pointers(problem)).toEqual(['/data/reference duplicate_reference']);
  expect((await stack.api.get(id)).body.data.amount).toBe(5.07);
});

test.each([
  ['CREATED', []],
  ['PENDING', ['signup_started']],
  ['APPROVED', ['signup_started', 'approved']],
  ['SUCCESSFUL', ['signup_started', 'approved', 'completed']],
])('the reference of a %s order is taken', async (status, events) => {
  const reference = `of ${status}`;
  const id = await openOrder(stack, { reference }, events);
  const problem = expectProblem(await stack.api.create({ reference }), 409, 'duplicate_reference');
  expect([problem.order_id, problem.order_status]).toEqual([id, status]);
});

test.each([
  ['cancelled', 'cancel', []],
  ['declined', undefined, ['signup_started', 'declined']],
  ['failed', undefined, ['failed']],
])('the reference of an order that was %s is free again', async (how, cancel, events) => {
  const reference = `of ${how}`;
  const id = await openOrder(stack, { reference }, events);
  if (cancel) expect((await stack.api.cancel(id)).status).toBe(200);
  const again = await stack.api.create({ reference });
  expect(again.status).toBe(201);
  expect(again.body.data.id).not.toBe(id);
  expectProblem(await stack.api.create({ reference }), 409, 'duplicate_reference');
});

test('sellers do not get in each other’s way', async () => {
  const other = apiOf(stack.api.url, await createSeller(stack.db), stack.api.checkoutKey);
  expect((await stack.api.create({ reference: 'no. 1' })).status).toBe(201);
  expect((await other.create({ reference: 'no. 1' })).status).toBe(201);
});

test('references that differ at all are different ones', async () => {
  for (const reference of ['a1', 'A1', 'a 1', 'a-1', 'a\u0301', '\u00e1', '1', '01', '1.0']) {
    expect((await stack.api.create({ reference })).status).toBe(201);
  }
});

test('a reference that is taken at each try and free whenever we look is answered 503, not 500, and nothing is made', async () => {
  const { db, api } = stack;
  await db.query(`create function snatch() returns trigger language plpgsql as $$
    begin raise exception using errcode = '23505', constraint = 'orders_reference'; end $$`);
  await db.query(`create trigger snatch before insert on orders for each row
    when (new.reference = 'snatched') execute function snatch()`);
  const answer = await api.create({ reference: 'snatched' });
  await db.query('drop trigger snatch on orders');
  expect(expectProblem(answer, 503, 'service_unavailable').detail).toMatch(/Nothing was changed; repeating .* is safe/);
  expect(answer.headers.get('Retry-After')).toBe('1');
  expect((await api.create({ reference: 'snatched' })).status).toBe(201);
});
