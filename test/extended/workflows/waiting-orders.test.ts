import type { ApiResponse } from '../../support/api';
import { openOrder, timelineOf } from '../../support/orders';
import { expectProblem, pointers } from '../../support/problems';
import { useStack } from '../../support/stack';

// The orders wait for a first message. A call gives up before Temporal repeats a workflow task that was lost, after 5
// s.
const stack = useStack({ env: { WORKFLOW_START_DELAY_MS: '60000', UPDATE_TIMEOUT_MS: '4000' } });

const workflow = (id: string) => stack.client.workflow.getHandle(`order-${id}`);

function expectRefused(response: ApiResponse): void {
  const problem = expectProblem(response, 409, 'transition_not_allowed');
  expect(problem.order_status).toBe('CREATED');
  expect(problem.detail).toBe('completed is not allowed: the order is CREATED.');
  expect(pointers(problem)).toEqual(['/data/event transition_not_allowed']);
}

test('a waiting order refuses a report, and then accepts the correct one', async () => {
  const id = await openOrder(stack);
  expectRefused(await stack.api.progress(id, 'completed'));
  expect((await stack.api.progress(id, 'signup_started')).body).toMatchObject({ data: { status: 'PENDING' } });
  expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual(['created', 'signup_started']);
});

test('a waiting order refuses reports, repeated and concurrent ones too, and can then be cancelled', async () => {
  const id = await openOrder(stack);
  const reports = await Promise.all([1, 2, 3].map(() => stack.api.progress(id, 'completed')));
  for (const response of [...reports, await stack.api.progress(id, 'completed')]) expectRefused(response);
  expect((await stack.api.cancel(id)).body).toMatchObject({ data: { status: 'UNSUCCESSFUL' } });
  expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual(['created', 'cancel']);
});

test.each(['unknown', '__proto__'])(
  'a waiting order that has received the signal %s refuses a report, and then accepts the correct one',
  async (name) => {
    const id = await openOrder(stack);
    await workflow(id).signal(name);
    expectRefused(await stack.api.progress(id, 'completed'));
    expect((await stack.api.progress(id, 'signup_started')).body).toMatchObject({ data: { status: 'PENDING' } });
  },
);

test('a waiting order records a refused signal once, and refuses a report', async () => {
  const id = await openOrder(stack);
  await workflow(id).signal('customerProgress', { event: 'approved' });
  expectRefused(await stack.api.progress(id, 'completed'));
  expect((await stack.api.progress(id, 'signup_started')).body).toMatchObject({ data: { status: 'PENDING' } });
  expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual(['created', 'approved', 'signup_started']);
});

test('a waiting order refuses an update with an unknown event from the Temporal UI, and then accepts a report', async () => {
  const id = await openOrder(stack);
  const update = workflow(id).executeUpdate('reportProgress', { args: [{ event: 'refund' }] });
  await expect(update).rejects.toThrow(/Update failed/);
  expect((await stack.api.progress(id, 'signup_started')).body).toMatchObject({ data: { status: 'PENDING' } });
});
