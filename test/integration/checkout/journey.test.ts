import {
  BUSINESS,
  buttonTarget,
  customerAt,
  endReferral,
  newCustomer,
  pendingCall,
  proceedCheckout,
  statusOfOrder,
} from '../../support/checkout';
import { storedText } from '../../support/history';
import { timelineOf } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { useSharedStack } from '../../support/shared-stack';
import { until } from '../../support/until';

const REDIRECT = 'https://shop.example/thanks?from=checkout';

// So many calls while a page waits for the lender.
const stack = useSharedStack();
const receiver = useReceiver();

const newOrder = (data: Record<string, unknown> = {}) =>
  newCustomer(stack, { webhook_url: receiver.url, redirect_url: REDIRECT, ...data });
const statusOf = (id: string) => statusOfOrder(stack, id);
const webhooksOf = (id: string) =>
  receiver.deliveries
    .filter(({ body }) => body.data.order.id === id)
    .map(({ body }) => [body.data.sequence, body.data.order.status, body.data.actor, body.data.reason]);
const changesOf = async (id: string) =>
  (await timelineOf(stack, id)).map(({ event, actor, channel }) => `${event} by ${actor} (${channel})`);

test('an approved customer pays later and is redirected to the seller, whose GET returns SUCCESSFUL by then', async () => {
  const { id, url, customer } = await newOrder();
  const choice = await customer.look();
  expect([choice.status, choice.heading]).toEqual([200, 'How would you like to pay?']);
  for (const text of ['Test Shop Ltd', '<b>£1,234.50</b>', '3 monthly payments of £411.50', '0% interest, first due']) {
    expect(choice.text).toContain(text);
  }
  const details = await customer.submit('choice', { payment_term: 'PAY_LATER' });
  expect(details.heading).toBe('About your business');
  expect(await statusOf(id)).toBe('PENDING');
  const approved = await customer.submit('application', BUSINESS);
  expect(approved.heading).toBe('You are approved');
  expect(approved.text.match(/£411\.50/g)).toHaveLength(3);
  for (const term of ['Sandbox Lender</dd>', 'Bloggs &amp; Daughters Ltd, company 01234567', '>credit agreement<span'])
    expect(approved.text.split('type="checkbox"')[0]).toContain(term);
  expect(await statusOf(id)).toBe('APPROVED');
  const refused = await customer.send('confirmation', {});
  expect([refused.status, await statusOf(id)]).toEqual([422, 'APPROVED']);
  expect(refused.text).toContain('Tick the box to agree');
  const agreed = await customer.send('confirmation', { agree: 'yes' });
  expect([agreed.status, agreed.headers.get('Location')]).toEqual([303, `${new URL(url).pathname}return/`]);
  const redirect = await customer.look('return/');
  expect(redirect.headers.get('Refresh')).toBe(`15;url=${REDIRECT}&orderId=${id}`);
  expect(await statusOf(id)).toBe('SUCCESSFUL');
  const complete = await customer.look();
  expect([complete.heading, complete.headers.get('Refresh'), buttonTarget(complete)]).toEqual([
    'Your order is complete',
    null,
    `${REDIRECT}&amp;orderId=${id}`,
  ]);
  await until(() => webhooksOf(id).length === 3, 'three webhooks came');
  expect(webhooksOf(id)).toEqual([
    [1, 'PENDING', 'customer', null],
    [2, 'APPROVED', 'checkout', null],
    [3, 'SUCCESSFUL', 'customer', null],
  ]);
  expect((await stack.api.get(id)).body.data.payment_term).toBe('PAY_LATER');
});

test('a customer who has to act on a page of the lender goes there, and continues after coming back', async () => {
  const { id, url, customer } = await newOrder();
  const leaving = await customer.apply({ email: 'verify@bloggs.example' });
  expect(leaving.heading).toBe('Taking you to Sandbox Lender');
  expect(leaving.headers.get('Refresh')).toBe(`0;url=${url}sandbox-lender/`);
  const page = await customer.look();
  expect([page.heading, buttonTarget(page)]).toEqual(['Continue at Sandbox Lender', `${new URL(url).pathname}lender/`]);
  await until(async () => (await pendingCall(stack, id))?.attempt === 2, 'the workflow waits');
  const run = stack.client.workflow.getHandle(`checkout-${id}`);
  const waiting = await storedText(run);
  expect(waiting).toContain('the customer has to act on a page of the lender');
  const other = customerAt(url);
  for (const part of ['', 'lender/']) {
    const { text } = await other.look(part);
    expect(text).not.toContain('sandbox-lender');
  }
  expect((await other.look()).heading).toBe('The lender needs one more step');
  expect(buttonTarget(await customer.look('sandbox-lender/'))).toBe(`${new URL(url).pathname}return/`);
  expect((await customer.look('return/')).status).toBe(303);
  await until(async () => (await customer.look()).heading === 'You are approved', 'the lender approves');
  for (const text of [waiting, await storedText(run)]) {
    for (const secret of ['sandbox-lender', 'verify@', new URL(url).pathname.split('/')[2]])
      expect(text).not.toContain(secret);
  }
});

test('a customer who can only pay later starts with the application', async () => {
  const { id, customer } = await newOrder({ allowed_payment_terms: ['PAY_LATER'] });
  const page = await customer.look();
  expect([page.heading, page.text.includes('Total to repay')]).toEqual(['About your business', true]);
  expect(await statusOf(id)).toBe('CREATED');
  expect((await customer.submit('application', BUSINESS)).heading).toBe('You are approved');
  expect(await changesOf(id)).toEqual([
    'created by seller (api)',
    'signup_started by customer (hosted_checkout)',
    'approved by checkout (hosted_checkout)',
  ]);
});

const DECLINED = 'Your application was not approved';
test.each([
  ['declined@b.example', {}, /checked the details/],
  ['jo@b.example', { monthly_turnover: '100' }, /turnover/],
])(
  'the customer %s with %j, who cannot pay now, reads why the order closed, and the seller learns only the outcome',
  async (email, fields, text) => {
    const { id, customer } = await newOrder({ allowed_payment_terms: ['PAY_LATER'] });
    await customer.look();
    const page = await customer.submit('application', { ...BUSINESS, email, ...fields });
    expect(page.heading).toBe(DECLINED);
    expect(page.text).toMatch(text);
    expect(page.text).toContain('you owe nothing');
    expect(buttonTarget(page)).toBe('https://shop.example/');
    expect(await changesOf(id)).toEqual([
      'created by seller (api)',
      'signup_started by customer (hosted_checkout)',
      'declined by checkout (hosted_checkout)',
    ]);
    await until(() => webhooksOf(id).length === 2, 'two webhooks came');
    expect(webhooksOf(id)[1]).toEqual([2, 'UNSUCCESSFUL', 'checkout', 'declined by the lender']);
    expect((await customer.send('confirmation', { agree: 'yes' })).status).toBe(303);
    expect((await customer.look('return/')).status).toBe(303);
    expect(await statusOf(id)).toBe('UNSUCCESSFUL');
  },
);

test.each([
  ['declined@b.example', 'Pay later was not approved', 'declined', 'declined by the lender', DECLINED],
  [
    'failed@b.example',
    'About your business',
    'failed',
    'the lender could not process the application',
    'Your order could not be completed',
  ],
])(
  'the order of the customer %s stays open until the customer cancels the application',
  async (email, open, event, reason, closed) => {
    const { id, url, customer } = await newOrder();
    expect((await customer.apply({ email })).heading).toBe(open);
    expect(await statusOf(id)).toBe('PENDING');
    const other = customerAt(url);
    await other.look();
    await other.submit('withdraw', {});
    expect(await statusOf(id)).toBe('PENDING');
    await customer.look();
    expect((await customer.submit('withdraw', {})).heading).toBe(closed);
    expect(await changesOf(id)).toEqual([
      'created by seller (api)',
      'signup_started by customer (hosted_checkout)',
      `${event} by customer (hosted_checkout)`,
    ]);
    await until(() => webhooksOf(id).length === 2, 'two webhooks came');
    expect(webhooksOf(id)[1]).toEqual([2, 'UNSUCCESSFUL', 'customer', reason]);
  },
);

test('an application that the lender could not process is replaced by a new one, once', async () => {
  const { id, customer } = await newOrder();
  const failed = await customer.apply({ email: 'failed@b.example' });
  expect(failed.text).toContain('This is not a decision about you or your business.');
  expect(failed.text).toContain('value="Bloggs &amp; Daughters Ltd"');
  const ids = () => stack.db.query<{ id: string }>('select id from application where order_id = $1', [id]);
  const before = (await ids()).rows[0]!.id;
  const again = { ...BUSINESS, email: 'jo@b.example' };
  const sent = await Promise.all([customer.send('application', again), customer.send('application', again)]);
  expect(sent.map(({ status }) => status)).toEqual([303, 303]);
  await until(async () => (await customer.look()).heading === 'You are approved', 'the lender has decided');
  expect((await ids()).rows).toEqual([{ id: expect.not.stringMatching(before) }]);
});

test.each([
  ['referred@b.example', 'You are approved'],
  ['referred-declined@b.example', 'Pay later was not approved'],
])('the customer %s waits on a page that refreshes unless they turn that off', async (email, heading) => {
  const { id, customer } = await newOrder();
  const page = await customer.apply({ email });
  expect(page.heading).toBe('Sandbox Lender is reviewing your application');
  expect(page.headers.get('Refresh')).toMatch(/^5;url=\/pay\/[^/]+\/$/);
  const still = await customer.look('?refresh=off');
  expect([still.heading, still.headers.get('Refresh')]).toEqual([page.heading, null]);
  await endReferral(stack.db, id);
  await proceedCheckout(stack, id);
  await until(async () => (await customer.look()).heading === heading, 'the lender has decided');
});

test('every invalid field shows an error, and the page keeps what the customer typed', async () => {
  const { id, customer } = await newOrder();
  const page = await customer.apply({ company_number: '12', email: 'nobody', business_name: 'Kept Ltd' });
  expect(page.status).toBe(422);
  expect(page.text).toContain('value="Kept Ltd"');
  expect(page.text.match(/aria-invalid="true"/g)).toHaveLength(2);
  expect(page.text).toContain('href="#company_number"');
  expect(await statusOf(id)).toBe('PENDING');
  expect((await customer.submit('application', BUSINESS)).heading).toBe('You are approved');
});

test('the same form sent twice at the same time makes one application, one agreement and one webhook per change', async () => {
  const { id, customer } = await newOrder();
  await customer.look();
  const twice = (part: string, fields: Record<string, string>) =>
    Promise.all([customer.send(part, fields), customer.send(part, fields)]);
  const locations: (string | null)[] = [];
  for (const [part, fields] of [
    ['choice', { payment_term: 'PAY_LATER' }],
    ['application', BUSINESS],
    ['confirmation', { agree: 'yes' }],
  ] as const) {
    const responses = await twice(part, fields);
    expect(responses.map(({ status }) => status)).toEqual([303, 303]);
    locations.push(...responses.map(({ headers }) => headers.get('Location')));
    await until(async () => (await customer.look()).heading !== 'Waiting for the decision', 'the lender has decided');
  }
  expect(locations.some((location) => location!.includes('message'))).toBe(false);
  expect(await changesOf(id)).toEqual([
    'created by seller (api)',
    'signup_started by customer (hosted_checkout)',
    'approved by checkout (hosted_checkout)',
    'completed by customer (hosted_checkout)',
  ]);
  await until(() => webhooksOf(id).length >= 3, 'the webhooks came');
  expect(webhooksOf(id)).toHaveLength(3);
});

test('a customer who changes browsers before applying continues at the same step', async () => {
  const { url, customer } = await newOrder();
  await customer.look();
  await customer.submit('choice', { payment_term: 'PAY_LATER' });
  const otherBrowser = customerAt(url);
  expect((await otherBrowser.look()).heading).toBe('About your business');
  expect((await otherBrowser.submit('application', BUSINESS)).heading).toBe('You are approved');
});
