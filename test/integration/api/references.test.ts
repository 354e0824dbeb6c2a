import { BASE } from '../../support/api';
import { openOrder } from '../../support/orders';
import { expectProblem, pointers } from '../../support/problems';
import { withNewSeller } from '../../support/stack';
import { useSharedStack } from '../../support/shared-stack';

const stack = useSharedStack();

test("a duplicate reference returns 409 with the existing order's id, order_url, status and amount", async () => {
  const { id, order_url } = (await stack.api.create({ reference: 'in use', amount: 5.07 })).body.data;
  const problem = expectProblem(await stack.api.create({ reference: 'in use', amount: 7 }), 409, 'duplicate_reference');
  expect(problem).toMatchObject({ order_id: id, order_url, order_status: 'CREATED', order_amount: 5.07 });
  expect(pointers(problem)).toEqual(['/data/reference duplicate_reference']);
  expect((await stack.api.get(id)).body.data.amount).toBe(5.07);
});

test.each([
  ['CREATED', []],
  ['PENDING', ['signup_started']],
  ['APPROVED', ['signup_started', 'approved']],
  ['SUCCESSFUL', ['signup_started', 'approved', 'completed']],
])('the reference of a %s order cannot be used again', async (status, events) => {
  const reference = `of ${status}`;
  const id = await openOrder(stack, { reference }, events);
  const problem = expectProblem(await stack.api.create({ reference }), 409, 'duplicate_reference');
  expect([problem.order_id, problem.order_status]).toEqual([id, status]);
});

test.each([
  ['cancelled', 'cancel', []],
  ['declined', undefined, ['signup_started', 'declined']],
  ['failed', undefined, ['failed']],
])('the reference of an order that was %s can be used again', async (how, cancel, events) => {
  const reference = `of ${how}`;
  const id = await openOrder(stack, { reference }, events);
  if (cancel) expect((await stack.api.cancel(id)).status).toBe(200);
  const again = await stack.api.create({ reference });
  expect(again.status).toBe(201);
  expect(again.body.data.id).not.toBe(id);
  expectProblem(await stack.api.create({ reference }), 409, 'duplicate_reference');
});

test('two sellers can use the same reference', async () => {
  const { api: other } = await withNewSeller(stack, { sandbox: true });
  expect((await stack.api.create({ reference: 'no. 1' })).status).toBe(201);
  expect((await other.create({ reference: 'no. 1' })).status).toBe(201);
});

test('references are compared exactly, in their normalized form', async () => {
  for (const reference of ['a1', 'A1', 'a 1', 'a-1', 'a\u0301', 'a', '1', '01', '1.0']) {
    expect((await stack.api.create({ reference })).status).toBe(201);
  }
  expectProblem(await stack.api.create({ reference: '\u00e1' }), 409, 'duplicate_reference');
  const path = `${BASE}/seller/${stack.seller.id}/order/?reference=${encodeURIComponent('a\u0301')}`;
  const { data } = (await stack.api.call('GET', path)).body;
  expect(data.map((order: { reference: string }) => order.reference)).toEqual(['\u00e1']);
});
