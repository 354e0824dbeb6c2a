import { saveBranding } from '../../../src/checkout/db/branding';
import { BASE } from '../../support/api';
import { BUSINESS, buttonTarget, customerAt, newCustomer, statusOfOrder } from '../../support/checkout';
import { timelineOf } from '../../support/orders';
import { until } from '../../support/until';
import { useSharedStack } from '../../support/shared-stack';

const REDIRECT = 'https://shop.example/thanks?from=checkout';

const CANCEL = 'https://shop.example/cart?from=checkout';

const stack = useSharedStack();

const newOrder = () => newCustomer(stack, { redirect_url: REDIRECT });

test('a cancellation by the seller ends the checkout at every step, and the pages state it', async () => {
  for (const step of ['created', 'details', 'referred', 'approved']) {
    const { id, customer } = await newOrder();
    await customer.look();
    if (step !== 'created') await customer.submit('choice', { payment_term: 'PAY_LATER' });
    if (step === 'referred') await customer.submit('application', { ...BUSINESS, email: 'referred@b.example' });
    if (step === 'approved') await customer.submit('application', BUSINESS);
    expect((await stack.api.cancel(id)).status).toBe(200);
    for (const [part, fields] of [
      ['choice', { payment_term: 'PAY_LATER' }],
      ['application', BUSINESS],
      ['confirmation', { agree: 'yes' }],
    ] as const) {
      const page = await customer.submit(part, fields);
      expect([step, part, page.heading]).toEqual([step, part, 'This order was cancelled']);
      expect(page.text).toContain('Test Shop Ltd cancelled it on');
      expect(buttonTarget(page)).toBe('https://shop.example/');
    }
    expect(await statusOfOrder(stack, id)).toBe('UNSUCCESSFUL');
  }
});

test("customers who do not complete the order go back to the seller's shop URL", async () => {
  const { id, customer } = await newOrder();
  const shopUrl = 'https://market.example/shops/harrow?from=pay&x=1';
  await saveBranding(stack.db, stack.seller.id, { shopUrl });
  const link = shopUrl.replace('&', '&amp;');
  expect((await customer.look()).text).toContain(`<a href="${link}">Return to Test Shop Ltd</a>`);
  await stack.api.cancel(id);
  expect(buttonTarget(await customer.look())).toBe(link);
  await saveBranding(stack.db, stack.seller.id, { shopUrl: null });
  expect(buttonTarget(await customer.look())).toBe('https://shop.example/');
});

test.each([
  ['declined', 'Your application was not approved'],
  ['failed', 'Your order could not be completed'],
  ['cancelled', 'This order was cancelled'],
])(
  "the page of a %s order leads to the order's cancel URL, not to the account's shop URL",
  async (outcome, heading) => {
    const { id, customer } = await newCustomer(stack, { redirect_url: REDIRECT, cancel_url: CANCEL });
    await saveBranding(stack.db, stack.seller.id, { shopUrl: 'https://market.example/' });
    if (outcome === 'cancelled') await stack.api.cancel(id);
    else {
      await customer.apply({ email: `${outcome}@b.example` });
      await customer.submit('withdraw', {});
    }
    const page = await customer.look();
    await saveBranding(stack.db, stack.seller.id, { shopUrl: null });
    expect([page.heading, buttonTarget(page)]).toEqual([heading, `${CANCEL}&amp;orderId=${id}`]);
    expect(page.text).not.toContain('market.example');
  },
);

test('a customer who leaves at any step goes to the cancel URL, and one who completes to the redirect URL', async () => {
  const { id, customer } = await newCustomer(stack, { redirect_url: REDIRECT, cancel_url: CANCEL });
  const link = `<a href="${CANCEL}&amp;orderId=${id}">Return to Test Shop Ltd</a>`;
  expect((await customer.look()).text).toContain(link);
  expect((await customer.submit('choice', { payment_term: 'PAY_LATER' })).text).toContain(link);
  expect((await customer.submit('application', BUSINESS)).text).toContain(link);
  expect((await customer.submit('confirmation', {})).text).toContain(link);
  const redirect = await customer.submit('confirmation', { agree: 'yes' });
  expect(redirect.headers.get('Refresh')).toBe(`15;url=${REDIRECT}&orderId=${id}`);
  expect(buttonTarget(await customer.look())).toBe(`${REDIRECT}&amp;orderId=${id}`);
});

test('an order that was approved outside the checkout cannot be completed in it', async () => {
  const { id, customer } = await newOrder();
  await customer.look();
  await customer.submit('choice', { payment_term: 'PAY_LATER' });
  await stack.api.progress(id, 'approved');
  const page = await customer.submit('confirmation', { agree: 'yes' });
  expect(page.heading).toBe('Your order is approved');
  expect(await statusOfOrder(stack, id)).toBe('APPROVED');
});

test('the page of an expired order states that it has expired, and leads to the cancel URL', async () => {
  const expires_at = new Date(Date.now() + 2000).toISOString();
  const { id, order_url: url } = (await stack.api.create({ cancel_url: CANCEL, expires_at })).body.data;
  const customer = customerAt(url);
  await until(async () => (await customer.look()).heading === 'This order has expired', 'it has expired');
  expect(buttonTarget(await customer.look())).toBe(`${CANCEL}&amp;orderId=${id}`);
  expect((await timelineOf(stack, id)).at(-1)).toMatchObject({
    event: 'expired',
    actor: 'system',
    channel: 'workflow',
  });
});

test('applicant data is deleted a month after the order closes, and the pages still show the outcome', async () => {
  const headings: Record<string, string> = {};
  for (const email of ['jo@b.example', 'declined@b.example']) {
    const { id, url, customer } = await newCustomer(stack);
    await customer.apply({ email });
    if (email.startsWith('jo')) await customer.submit('confirmation', { agree: 'yes' });
    if (email.startsWith('declined')) await customer.submit('withdraw', {});
    const isKept = async () =>
      (await stack.db.query('select from application where order_id = $1 and email = $2', [id, email])).rowCount === 1;
    expect(await isKept()).toBe(true);
    await stack.db.query(`update application set created_at = created_at - interval '31 days' where order_id = $1`, [
      id,
    ]);
    await stack.db.query(`update order_timeline set at = at - interval '31 days' where order_id = $1`, [id]);
    await until(async () => !(await isKept()), 'it is deleted');
    const page = await customer.look();
    headings[email] = page.heading;
    expect(page.text).not.toContain('checked the details');
    // The agreement is kept, because the instalments are due after that time.
    expect(page.text.includes('<table')).toBe(email.startsWith('jo'));
    expect((await customerAt(url).look()).text).not.toContain('<table');
  }
  expect(headings).toEqual({
    'jo@b.example': 'Your order is complete',
    'declined@b.example': 'Your application was not approved',
  });
});

test('GET /pay_link/ returns the order of a pay link to the checkout key only', async () => {
  const { id, url } = await newCustomer(stack, { redirect_url: REDIRECT, cancel_url: CANCEL });
  const link = new URL(url).pathname.split('/')[2]!;
  const find = (payLinkId: string, key: string) => stack.api.call('GET', `${BASE}/pay_link/${payLinkId}/`, { key });
  const found = await find(link, stack.api.checkoutKey);
  expect([found.status, found.headers.get('Order-Source')]).toEqual([200, expect.stringMatching(/workflow|snapshot/)]);
  expect(found.body).toEqual((await stack.api.get(id)).body);
  expect(found.body.data.cancel_url).toBe(`${CANCEL}&orderId=${id}`);
  for (const unknown of [id, 'x', link.replace(/^.{8}/, '00000000')]) {
    expect((await find(unknown, stack.api.checkoutKey)).status).toBe(404);
  }
  expect((await find(link, stack.seller.key)).status).toBe(401);
});
