import { type Api } from '../../support/api';
import { timelineOf } from '../../support/orders';
import { portalVisitor } from '../../support/portal';
import { useSharedStack } from '../../support/shared-stack';
import { withNewSeller } from '../../support/stack';
import { until } from '../../support/until';

const stack = useSharedStack();

/** A person of a new seller, who is signed in. */
async function newVisitor({ sandbox = true, ...session }: { sandbox?: boolean; read_only?: boolean } = {}) {
  const { seller, api } = await withNewSeller(stack, { sandbox });
  const visitor = portalVisitor({ api, seller });
  await visitor.signIn({ user: 'Ada', ...session });
  return { ...visitor, seller, api };
}
const openTo = '/portal/orders/';

async function newOrder(api: Api, data: Record<string, unknown> = {}) {
  const { status, body } = await api.create(data);
  expect(status).toBe(201);
  return body.data as { id: string; order_url: string };
}

test('an order is found by its reference, its id and its amount, as a person pastes them', async () => {
  const { api, get } = await newVisitor();
  const wanted = await newOrder(api, { amount: 2345.67, reference: 'WEB-77' });
  await newOrder(api, { amount: 10, reference: 'OTHER' });
  for (const q of ['WEB-77', ` ${wanted.id} `, '2345.67', '£2,345.67', '2,345.67']) {
    const { status, text } = await get(`${openTo}?q=${encodeURIComponent(q)}`);
    expect([q, status, text.includes('WEB-77'), text.includes('OTHER')]).toEqual([q, 200, true, false]);
  }
  expect((await get(`${openTo}?q=nothing`)).text).toContain('No order matches.');
});

test('the filters, the pages and the CSV select the same orders', async () => {
  const { api, get } = await newVisitor();
  for (let number = 1; number <= 3; number++) await newOrder(api, { reference: `R-${number}` });
  const paid = await newOrder(api, { reference: 'PAID' });
  for (const event of ['signup_started', 'approved', 'completed']) await api.progress(paid.id, event);
  const today = new Date().toISOString().slice(0, 10);
  const query = `?status=SUCCESSFUL&by=completed&from=2020-01-01&to=${today}`;
  const list = (await get(openTo + query)).text;
  expect([list.includes('PAID'), list.includes('R-1')]).toEqual([true, false]);
  const csv = await get(`/portal/orders.csv${query}`);
  expect(csv.headers.get('Content-Type')).toContain('text/csv');
  expect(csv.headers.get('Content-Disposition')).toContain(`"orders-successful-2020-01-01-${today}.csv"`);
  const lines = csv.text.trim().split('\r\n');
  expect(lines).toHaveLength(2);
  expect(lines[1]).toContain(`${paid.id},PAID,SUCCESSFUL`);
  expect((await get(`${openTo}?status=SUCCESSFUL&by=completed&to=2020-01-01`)).text).toContain('No order matches.');
  // What a form cannot send counts as empty.
  for (const query of ['status=x&from=y&status=z&cursor=q', 'from=2026-99-99&to=0000-01-01', 'to=9999-12-31', 'q=%00'])
    expect([query, (await get(`${openTo}?${query}`)).status]).toEqual([query, 200]);
});

test('an order shows its facts, its timeline in words, and what it waits for', async () => {
  const { api, get } = await newVisitor();
  const order = await newOrder(api, { reference: 'WEB-1', webhook_url: 'http://127.0.0.1:9/' });
  expect((await get(openTo)).text).toContain('the customer has not chosen');
  await api.progress(order.id, 'signup_started');
  const { status, text } = await get(`${openTo}${order.id}/`);
  expect(status).toBe(200);
  for (const shown of [
    order.id,
    order.order_url,
    'The order was created',
    'The customer started the signup',
    'Webhook 1',
  ])
    expect(text).toContain(shown);
});

test('a cancel asks first, cancels once, and is in the audit log with its user', async () => {
  const { api, get, submit, seller } = await newVisitor();
  const order = await newOrder(api);
  const path = `${openTo}${order.id}/`;
  const question = await get(`${path}cancel/`);
  expect(question.text).toContain('This cannot be undone.');
  expect((await api.get(order.id)).body.data.status).toBe('CREATED');
  const { status, headers } = await submit(`${path}cancel/`, `${path}cancel/`);
  expect([status, headers.get('Location')]).toEqual([303, `${path}?done=cancelled`]);
  expect((await api.get(order.id)).body.data.status).toBe('UNSUCCESSFUL');
  expect((await timelineOf(stack, order.id)).at(-1)).toMatchObject({ actor: 'seller', channel: 'portal' });
  const { rows } = await stack.db.query(
    `select operator, arguments->>'user' as user, arguments->>'orderId' as id, outcome from operator_action
     where command = 'portal order cancel' and arguments->>'seller' = $1`,
    [seller.id],
  );
  expect(rows).toEqual([{ operator: `seller ${seller.id}`, user: 'Ada', id: order.id, outcome: 'succeeded' }]);
});

test('a seller of a sandbox account simulates what the status allows, and one of a live account nothing', async () => {
  const { api, submit } = await newVisitor();
  const order = await newOrder(api);
  const path = `${openTo}${order.id}/`;
  expect((await submit(path, `${path}simulate/`, { event: 'signup_started' })).status).toBe(303);
  expect((await api.get(order.id)).body.data.status).toBe('PENDING');
  expect((await timelineOf(stack, order.id)).at(-1)).toMatchObject({ actor: 'checkout', channel: 'portal' });
  expect((await submit(path, `${path}simulate/`, { event: 'completed' })).status).toBe(409);
  expect((await submit(path, `${path}simulate/`, { event: 'nonsense' })).status).toBe(422);
});

test('the overview counts the orders of the last 30 days, and says what needs attention', async () => {
  const { api, get } = await newVisitor();
  expect((await get('/portal/overview/')).text).toContain('Nothing. No webhook has failed.');
  const paid = await newOrder(api, { amount: 1234.5 });
  for (const event of ['signup_started', 'approved', 'completed']) await api.progress(paid.id, event);
  const old = await newOrder(api);
  await stack.db.query(`update orders set created_at = created_at - interval '31 days' where id = $1`, [old.id]);
  const { text } = await get('/portal/overview/');
  const figures = [...text.matchAll(/<dt>([^<]+)<\/dt>\s*<dd>([^<]+)/g)].map(([, name, value]) => [
    name,
    value?.trim(),
  ]);
  expect(Object.fromEntries(figures)).toMatchObject({
    Created: '1',
    Completed: '1',
    'Value of completed orders': '£1,234.50',
    Conversion: '100.0%',
  });

  const unreachable = await newOrder(api, { webhook_url: 'http://127.0.0.1:9/' });
  for (const event of ['signup_started', 'approved']) await api.progress(unreachable.id, event);
  await until(
    // The second one waits for the first.
    async () => (await get('/portal/overview/')).text.includes('Webhooks that wait after an error: 2'),
    'the overview counts the webhooks that wait',
  );
});
