import { BASE } from '../../support/api';
import { openOrder, timelineOf } from '../../support/orders';
import { expectProblem, pointers } from '../../support/problems';
import { useSharedStack } from '../../support/shared-stack';

const stack = useSharedStack();

/** The events that lead to each status. */
const EVENTS = {
  CREATED: [],
  PENDING: ['signup_started'],
  APPROVED: ['signup_started', 'approved'],
  SUCCESSFUL: ['signup_started', 'approved', 'completed'],
  UNSUCCESSFUL: ['signup_started', 'declined'],
};
type Status = keyof typeof EVENTS;

test.each<[string, Status, Status]>([
  ['signup_started', 'CREATED', 'PENDING'],
  ['approved', 'PENDING', 'APPROVED'],
  ['declined', 'PENDING', 'UNSUCCESSFUL'],
  ['completed', 'APPROVED', 'SUCCESSFUL'],
  ['failed', 'APPROVED', 'UNSUCCESSFUL'],
])('%s moves a %s order to %s, and a repeat gets the same response', async (event, from, to) => {
  const id = await openOrder(stack, {}, EVENTS[from]);
  const before = await stack.api.get(id);
  const response = await stack.api.progress(id, event, 'because');
  expect(response.status).toBe(200);
  const reason = to === 'UNSUCCESSFUL' && { unsuccessful_reason: event };
  const { updated_at } = response.body.data;
  const completed = to === 'SUCCESSFUL' && { completed_at: updated_at };
  expect(response.body).toEqual({ data: { ...before.body.data, status: to, updated_at, ...reason, ...completed } });
  expect(Date.parse(updated_at)).toBeGreaterThan(Date.parse(before.body.data.updated_at));
  expect((await stack.api.get(id)).body).toEqual(response.body);
  const repeated = await stack.api.progress(id, event, 'once more');
  expect([repeated.status, repeated.text]).toEqual([200, response.text]);
  const lines = await timelineOf(stack, id);
  expect(lines.at(-1)).toMatchObject({ event, from_status: from, to_status: to, actor: 'checkout', reason: 'because' });
  expect(lines).toHaveLength(EVENTS[from].length + 2);
});

test.each<[string, Status]>([
  ['completed', 'PENDING'],
  ['failed', 'UNSUCCESSFUL'],
])('%s on a %s order returns 409 with the current status', async (event, status) => {
  const id = await openOrder(stack, {}, EVENTS[status]);
  const problem = expectProblem(await stack.api.progress(id, event), 409, 'transition_not_allowed');
  expect(problem.order_status).toBe(status);
  expect(pointers(problem)).toEqual(['/data/event transition_not_allowed']);
  expect((await stack.api.get(id)).body.data.status).toBe(status);
  expect(await timelineOf(stack, id)).toHaveLength(EVENTS[status].length + 1);
});

test('an earlier event that is repeated later changes nothing, even after a cancel', async () => {
  const id = await openOrder(stack, {}, EVENTS.APPROVED);
  const repeated = await stack.api.progress(id, 'signup_started');
  expect([repeated.status, repeated.body.data.status]).toEqual([200, 'APPROVED']);
  await stack.api.cancel(id);
  const late = await stack.api.progress(id, 'approved');
  expect([late.status, late.body.data.status]).toEqual([200, 'UNSUCCESSFUL']);
  expectProblem(await stack.api.progress(id, 'completed'), 409, 'transition_not_allowed');
});

test('GET, lists, timeline and webhooks have the payment term that was reported; an unknown one is refused', async () => {
  const { api, db, seller } = stack;
  const id = await openOrder(stack, { webhook_url: 'https://shop.invalid/hooks' });
  const report = (event: string, payment_term?: string) =>
    api.progress(id, event, undefined, { body: { data: { event, payment_term } } });
  expect((await api.get(id)).body.data).not.toHaveProperty('payment_term');
  expectProblem(await report('signup_started', 'LATER'), 422, 'invalid_request');
  expect((await report('signup_started', 'PAY_LATER')).body.data.payment_term).toBe('PAY_LATER');
  await report('approved');
  expect((await api.get(id)).body.data.payment_term).toBe('PAY_LATER');
  await report('completed', 'PAY_NOW');
  expect((await api.get(id)).body.data.payment_term).toBe('PAY_NOW');
  const list = await api.call('GET', `${BASE}/seller/${seller.id}/order/`);
  expect(list.body.data.find((one: { id: string }) => one.id === id).payment_term).toBe('PAY_NOW');
  const timeline = await api.call('GET', `${BASE}/order/${id}/timeline/`);
  const termOf = ({ event, payment_term }: Record<string, string>) => [event, payment_term];
  expect(timeline.body.data.filter(({ type }: { type: string }) => type === 'change').map(termOf)).toEqual([
    ['created', null],
    ['signup_started', 'PAY_LATER'],
    ['approved', null],
    ['completed', 'PAY_NOW'],
  ]);
  const { rows } = await db.query<{ term: string }>(
    `select body::json->'data'->'order'->>'payment_term' as term from webhook_event where order_id = $1 order by sequence`,
    [id],
  );
  expect(rows.map(({ term }) => term)).toEqual(['PAY_LATER', 'PAY_LATER', 'PAY_NOW']);
});

test('one of two concurrent reports, approved and declined, wins and the other is refused', async () => {
  const id = await openOrder(stack, {}, EVENTS.PENDING);
  const responses = await Promise.all(['approved', 'declined'].map((event) => stack.api.progress(id, event)));
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 409]);
  const winner = responses.find(({ status }) => status === 200)!;
  expect((await stack.api.get(id)).body).toEqual(winner.body);
});
