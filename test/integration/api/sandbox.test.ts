import { newOrder } from '../../support/new-orders';
import { insertOrder } from '../../../src/db/orders';
import { BASE, apiOf } from '../../support/api';
import { customerAt } from '../../support/checkout';
import { openOrder, timelineOf } from '../../support/orders';
import { expectProblem } from '../../support/problems';
import { useReceiver } from '../../support/receiver';
import { useSharedStack } from '../../support/shared-stack';
import { createSeller, useStack } from '../../support/stack';
import { until } from '../../support/until';

const stack = useSharedStack();
/** Without the hosted checkout, so that live accounts need no lender. */
const live = useStack();
const receiver = useReceiver();

const simulate = (id: string, event: string, reason?: string, api = stack.api) =>
  api.call('POST', `${BASE}/order/${id}/simulate/`, { body: { data: { event, reason } } });

test('a seller moves an order of its sandbox account to SUCCESSFUL, with three webhooks', async () => {
  expect(stack.seller.key).toMatch(/^sk_test_[\w-]{43}$/);
  const id = await openOrder(stack, { webhook_url: receiver.url });
  for (const event of ['signup_started', 'approved', 'completed']) {
    expect((await simulate(id, event)).status).toBe(200);
  }
  expect((await simulate(id, 'completed')).body.data).toMatchObject({ status: 'SUCCESSFUL', sandbox: true });
  await until(() => receiver.deliveries.length === 3, 'the webhooks arrive');
  expect(receiver.deliveries.map(({ body }) => body.data.order.sandbox)).toEqual([true, true, true]);
  expect((await timelineOf(stack, id)).map(({ event, actor }) => `${event} by ${actor}`)).toEqual([
    'created by seller',
    'signup_started by checkout',
    'approved by checkout',
    'completed by checkout',
  ]);
});

test('a retrieved webhook has the headers of an attempt, with the traceparent of the change if it has one', async () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  for (const headers of [{}, { traceparent }] as Record<string, string>[]) {
    const id = await openOrder(stack, { webhook_url: receiver.url });
    const path = `${BASE}/order/${id}/simulate/`;
    await stack.api.call('POST', path, { headers, body: { data: { event: 'signup_started' } } });
    const sent = await until(
      () => receiver.deliveries.find(({ body }) => body.data.order.id === id)?.headers,
      'the webhook arrives',
    );
    const retrieved = await stack.api.call('GET', `${BASE}/webhook_event/${String(sent['webhook-id'])}/`);
    const { request_headers: given } = retrieved.body.data;
    const ofHttp = ['host', 'connection', 'content-length'];
    expect(Object.keys(given).sort()).toEqual(
      Object.keys(sent)
        .filter((name) => !ofHttp.includes(name))
        .sort(),
    );
    expect([given.traceparent, sent.traceparent]).toEqual([headers.traceparent, headers.traceparent]);
  }
});

test('a simulated event is refused if the status does not allow it, and its reason is kept', async () => {
  const id = await openOrder(stack);
  expectProblem(await simulate(id, 'completed'), 409, 'transition_not_allowed');
  expectProblem(await simulate(id, 'cancel'), 422, 'invalid_request');
  expect((await simulate(id, 'failed', 'bank declined')).body.data.status).toBe('UNSUCCESSFUL');
  expect((await timelineOf(stack, id)).at(-1)).toMatchObject({ event: 'failed', reason: 'bank declined' });
});

test('a simulated expiry ends an open order as its expiry does, with a webhook', async () => {
  const id = await openOrder(stack, { webhook_url: receiver.url }, ['signup_started']);
  expect((await simulate(id, 'expired')).body.data).toMatchObject({
    status: 'UNSUCCESSFUL',
    unsuccessful_reason: 'expired',
  });
  const sent = await until(
    () => receiver.deliveries.find(({ body }) => body.data.order.id === id && body.data.event === 'expired'),
    'the webhook arrives',
  );
  expect(sent.body.data).toMatchObject({ previous_status: 'PENDING', actor: 'system' });
  expect((await simulate(id, 'expired')).status).toBe(200);
  expectProblem(await simulate(await openOrder(stack, {}, ['failed']), 'expired'), 409, 'transition_not_allowed');
});

test('a simulated event with If-Match of an older version returns 412, and changes nothing', async () => {
  const id = await openOrder(stack, {}, ['signup_started']);
  const approve = (etag: string) =>
    stack.api.call('POST', `${BASE}/order/${id}/simulate/`, {
      headers: { 'If-Match': etag },
      body: { data: { event: 'approved' } },
    });
  expectProblem(await approve('"1"'), 412, 'precondition_failed');
  expect((await stack.api.get(id)).body.data.status).toBe('PENDING');
  expect((await approve('"2"')).body.data.status).toBe('APPROVED');
});

test('a live account cannot simulate, and its orders do not name a mode', async () => {
  const { seller, api } = live;
  expect(seller.key).toMatch(/^sk_(?!test_)/);
  const id = await openOrder(live);
  expectProblem(await simulate(id, 'signup_started', undefined, api), 403, 'sandbox_only');
  expect((await api.get(id)).body.data).toMatchObject({ status: 'CREATED' });
  expect((await api.get(id)).body.data).not.toHaveProperty('sandbox');
});

test('the checkout of a sandbox order has a notice', async () => {
  const page = await customerAt((await stack.api.create()).body.data.order_url).look();
  expect(page.text).toContain('Sandbox: no real lender, bank, email or money.');
});

test('if the hosted checkout has no lender for live accounts, a live order is refused, and its key stays unused', async () => {
  const seller = await createSeller(stack.db);
  const api = apiOf(stack.api.url, seller, stack.api.checkoutKey);
  const headers = { 'Idempotency-Key': 'live-1' };
  const { detail } = expectProblem(await api.create({}, { headers }), 422, 'checkout_not_ready');
  expect(detail).toContain('no lender is connected');
  const { rows } = await stack.db.query('select from idempotency_key where seller_id = $1', [seller.id]);
  expect(rows).toEqual([]);
  expect((await api.call('GET', `${BASE}/seller/${seller.id}/order/`)).body.data).toEqual([]);
  // Invalid fields are reported first.
  expectProblem(await api.create({ amount: 0 }), 422, 'invalid_request');
});

test("the Temporal UI shows the mode in a workflow's summary and search attributes", async () => {
  const describe = async (one: typeof live | typeof stack) => {
    const handle = one.client.workflow.getHandle(`order-${await openOrder(one)}`);
    const { typedSearchAttributes, staticSummary } = await handle.describe();
    return [typedSearchAttributes.getAll().find(({ key }) => key.name === 'AccountMode')?.value, await staticSummary()];
  };
  expect(await describe(stack)).toEqual(['sandbox', expect.stringMatching(/^Sandbox: £1,234\.50 for/)]);
  expect(await describe(live)).toEqual(['live', expect.stringMatching(/^£1,234\.50 for/)]);
});

test('the database refuses an order whose mode is not that of its account', async () => {
  const insert = insertOrder(stack.db, newOrder(stack.seller.id, { sandbox: false }));
  await expect(insert).rejects.toThrow('violates foreign key constraint');
});
