import { orderSchema } from '../../../src/contracts/order-schemas';
import { BASE } from '../../support/api';
import { openOrder, statusOf, timelineOf } from '../../support/orders';
import { expectProblem } from '../../support/problems';
import { useReceiver } from '../../support/receiver';
import { useSharedStack } from '../../support/shared-stack';
import { until } from '../../support/until';

const NOW = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

const stack = useSharedStack();
const receiver = useReceiver();

const hasEnded = (id: string) =>
  until(async () => (await statusOf(stack.client, id)) === 'COMPLETED', 'the workflow has ended');

test.each([
  ['CREATED', []],
  ['PENDING', ['signup_started']],
  ['APPROVED', ['signup_started', 'approved']],
])('cancelling a %s order makes it UNSUCCESSFUL and sets cancelled_at', async (status, events) => {
  const facts = { source: 'shop', meta_data: { cart: [7, null] } };
  const id = await openOrder(stack, facts, events);
  const before = await stack.api.get(id);
  expect(before.body.data).toMatchObject({ status, ...facts });
  expect(before.body.data).not.toHaveProperty('cancelled_at');
  const calledAt = Date.now();
  const cancelled = await stack.api.cancel(id);
  expect(cancelled.status).toBe(200);
  expect(cancelled.body).toEqual({
    data: {
      ...before.body.data,
      status: 'UNSUCCESSFUL',
      cancelled_at: expect.stringMatching(NOW),
      updated_at: cancelled.body.data.cancelled_at,
      unsuccessful_reason: 'cancelled',
    },
  });
  const cancelledAt = Date.parse(cancelled.body.data.cancelled_at);
  expect(cancelledAt).toBeGreaterThanOrEqual(calledAt);
  expect(cancelledAt).toBeLessThanOrEqual(Date.now());
  expect(orderSchema.strict().safeParse(cancelled.body.data).error).toBeUndefined();
  expect((await stack.api.get(id)).body).toEqual(cancelled.body);
  expect((await timelineOf(stack, id)).at(-1)).toMatchObject({
    version: events.length + 2,
    event: 'cancel',
    actor: 'seller',
    channel: 'api',
    reason: null,
  });
});

test('cancelling a declined order whose workflow has ended sets cancelled_at and sends no webhook', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started', 'declined']);
  await hasEnded(id);
  const [cancelled, again] = await Promise.all([stack.api.cancel(id), stack.api.cancel(id)]);
  expect(cancelled.status).toBe(200);
  expect(cancelled.body.data).toMatchObject({ status: 'UNSUCCESSFUL', cancelled_at: expect.stringMatching(NOW) });
  expect(again.body).toEqual(cancelled.body);
  expect((await stack.api.get(id)).body).toEqual(cancelled.body);
  await hasEnded(id);
  const statuses = receiver.deliveries
    .filter(({ body }) => body.data.order.id === id)
    .map(({ body }) => body.data.order.status);
  expect(statuses).toEqual(['PENDING', 'UNSUCCESSFUL']);
  const { rowCount } = await stack.db.query('select from webhook_event where order_id = $1', [id]);
  expect(rowCount).toBe(2);
  expect((await timelineOf(stack, id)).filter(({ event }) => event === 'cancel')).toHaveLength(1);
});

test('a repeated cancel changes nothing and keeps the first cancelled_at', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  const first = await stack.api.cancel(id);
  const second = await stack.api.cancel(id);
  await hasEnded(id);
  const third = await stack.api.cancel(id);
  expect([second.status, third.status]).toEqual([200, 200]);
  expect(second.text).toBe(first.text);
  expect(third.text).toBe(first.text);
  expect((await timelineOf(stack, id)).map(({ event }) => event)).toEqual(['created', 'signup_started', 'cancel']);
});

const ifMatch = (etag: string) => ({ headers: { 'If-Match': etag } });

test('a cancel with If-Match of an older version returns 412 with the current ETag, and adds no event to the history', async () => {
  const id = await openOrder(stack);
  const { headers } = await stack.api.get(id);
  const old = headers.get('ETag')!;
  await stack.api.progress(id, 'signup_started');
  const updates = async () => {
    const { events } = await stack.client.workflow.getHandle(`order-${id}`).fetchHistory();
    return events?.filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes).length;
  };
  for (const etag of [old, '"0", "1"', 'W/"2"', '2', '"x"']) {
    const refused = await stack.api.cancel(id, ifMatch(etag));
    const { detail } = expectProblem(refused, 412, 'precondition_failed');
    expect(detail).toContain('which is "2" now');
    expect(refused.headers.get('ETag')).toBe('"2"');
  }
  expect((await stack.api.get(id)).body.data.status).toBe('PENDING');
  expect(await updates()).toBe(1);
  const cancelled = await stack.api.cancel(id, ifMatch('"1", "2"'));
  expect([cancelled.status, cancelled.headers.get('ETag')]).toEqual([200, '"3"']);
  expect((await stack.api.cancel(id, ifMatch('*'))).text).toBe(cancelled.text);
});

test('a repeat of a cancel with If-Match, whose response may be lost, returns the same', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  const cancelled = await stack.api.cancel(id, ifMatch('"2"'));
  expect(cancelled.status).toBe(200);
  expect((await stack.api.cancel(id, ifMatch('"2"'))).text).toBe(cancelled.text);
  expectProblem(await stack.api.cancel(id, ifMatch('"1"')), 412, 'precondition_failed');
});

test('of ten concurrent changes with If-Match of one version, one is made, and the others return 412', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  const changes = Array.from({ length: 10 }, (_, index) =>
    index % 2 === 0
      ? stack.api.cancel(id, ifMatch('"2"'))
      : stack.api.progress(id, 'approved', undefined, ifMatch('"2"')),
  );
  const statuses = (await Promise.all(changes)).map(({ status }) => status);
  // Repeats of the change that is made may join it.
  expect(new Set(statuses)).toEqual(new Set([200, 412]));
  expect((await stack.api.get(id)).headers.get('ETag')).toBe('"3"');
});

test('progress with If-Match of an older version returns 412, and changes nothing', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  const approve = (etag: string) => stack.api.progress(id, 'approved', undefined, ifMatch(etag));
  expectProblem(await approve('"1"'), 412, 'precondition_failed');
  expect((await stack.api.get(id)).body.data.status).toBe('PENDING');
  const approved = await approve('"2"');
  expect([approved.status, approved.headers.get('ETag')]).toEqual([200, '"3"']);
  expect((await approve('"2"')).text).toBe(approved.text);
  expectProblem(await approve('"1"'), 412, 'precondition_failed');
});

test('twenty concurrent cancels make one change', async () => {
  const id = await openOrder(stack);
  const responses = await Promise.all(Array.from({ length: 20 }, () => stack.api.cancel(id)));
  expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(responses[0]!.status).toBe(200);
  expect(await timelineOf(stack, id)).toHaveLength(2);
});

test('cancelling a SUCCESSFUL order returns 409 and changes nothing', async () => {
  const id = await openOrder(stack, {}, ['signup_started', 'approved', 'completed']);
  for (const path of [`/order/${id}/`, `/seller/${stack.seller.id}/order/${id}/`]) {
    const problem = expectProblem(await stack.api.call('DELETE', BASE + path), 409, 'order_not_cancellable');
    expect(problem.order_status).toBe('SUCCESSFUL');
  }
  const { data } = (await stack.api.get(id)).body;
  expect(data.status).toBe('SUCCESSFUL');
  expect(data).not.toHaveProperty('cancelled_at');
});
