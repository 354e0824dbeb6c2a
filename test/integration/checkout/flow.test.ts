import { formatDate } from '../../../src/checkout/words';
import { updateAccount } from '../../../src/db/accounts';
import { monthsAfter } from '../../../src/domain/calendar';
import { londonDate } from '../../../src/lender/london-date';
import type { Customer, Shown } from '../../support/checkout';
import { BUSINESS, customerAt, startCheckout } from '../../support/checkout';
import { isRunning, timelineOf } from '../../support/orders';
import { startProxy } from '../../support/proxy';
import type { Receiver } from '../../support/receiver';
import { startReceiver } from '../../support/receiver';
import type { Stack } from '../../support/stack';
import { until } from '../../support/until';

const REDIRECT = 'https://shop.example/thanks?from=checkout';

let stack: Stack;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  stack = await startCheckout();
});
afterAll(async () => {
  await stack.stop();
  await receiver.stop();
});

async function newOrder(data: Record<string, unknown> = {}) {
  const answer = await stack.api.create({ webhook_url: receiver.url, redirect_url: REDIRECT, ...data });
  expect(answer.status).toBe(201);
  const { id, order_url: url } = answer.body.data as { id: string; order_url: string };
  await until(() => isRunning(stack.client, id), 'the workflow runs');
  return { id, url, customer: customerAt(url) };
}
const statusOf = async (id: string): Promise<string> => (await stack.api.get(id)).body.data.status;
const toldOf = (id: string) =>
  receiver.deliveries
    .filter(({ body }) => body.data.order.id === id)
    .map(({ body }) => [body.data.sequence, body.data.order.status, body.data.actor, body.data.reason]);
const linesOf = async (id: string) => (await timelineOf(stack, id)).map(({ event, actor }) => `${event} by ${actor}`);
const button = (page: Shown) => /<a class="button" href="([^"]*)"/.exec(page.text)?.[1];

test('approved: choice, details, decision, agreement, and on to the seller, whose GET says SUCCESSFUL by then', async () => {
  const { id, url, customer } = await newOrder();
  const first = await customer.look();
  expect([first.status, first.heading]).toEqual([200, 'How would you like to pay?']);
  for (const part of ['Test Shop Ltd', '£1,234.50', 'Pay now', 'Pay later', 'No interest: you repay']) {
    expect(first.text).toContain(part);
  }
  const details = await customer.submit('choice', { payment_term: 'PAY_LATER' });
  expect(details.heading).toBe('About your business');
  expect(await statusOf(id)).toBe('PENDING');
  const approved = await customer.submit('application', BUSINESS);
  expect(approved.heading).toBe('You are approved');
  expect(approved.text.match(/£411\.50/g)).toHaveLength(3);
  expect(await statusOf(id)).toBe('APPROVED');
  const refused = await customer.send('confirmation', {});
  expect([refused.status, await statusOf(id)]).toEqual([422, 'APPROVED']);
  expect(refused.text).toContain('Tick the box to agree');
  const sent = await customer.send('confirmation', { agree: 'yes' });
  expect([sent.status, sent.headers.get('Location')]).toEqual([303, `${new URL(url).pathname}return/`]);
  const leaving = await customer.look('return/');
  expect(leaving.headers.get('Refresh')).toBe(`0;url=${REDIRECT}&orderId=${id}`);
  expect(await statusOf(id)).toBe('SUCCESSFUL');
  const paid = await customer.look();
  expect([paid.heading, paid.headers.get('Refresh'), button(paid)]).toEqual([
    'Your order is complete',
    null,
    `${REDIRECT}&amp;orderId=${id}`,
  ]);
  await until(() => toldOf(id).length === 3, 'three webhooks came');
  expect(toldOf(id)).toEqual([
    [1, 'PENDING', 'customer', null],
    [2, 'APPROVED', 'checkout', null],
    [3, 'SUCCESSFUL', 'customer', null],
  ]);
});

test('to pay now there is nothing to repay or to tick', async () => {
  const { id, customer } = await newOrder({ allowed_payment_terms: ['PAY_NOW'] });
  const page = await customer.apply({}, 'PAY_NOW');
  expect(page.heading).toBe('Confirm your payment');
  expect(page.text).not.toContain('<table');
  await customer.submit('confirmation', {});
  expect(await statusOf(id)).toBe('SUCCESSFUL');
});

test.each([
  ['declined@b.example', {}, 'Your application was not approved', /After checks/, 'declined', 'declined by the lender'],
  [
    'jo@b.example',
    { monthly_turnover: '100' },
    'Your application was not approved',
    /turnover/,
    'declined',
    'declined by the lender',
  ],
  [
    'failed@b.example',
    {},
    'Something went wrong',
    /not a decision about you/,
    'failed',
    'the lender could not process the application',
  ],
])(
  '%s with %j ends honestly, and the seller hears no more than that',
  async (email, more, heading, words, event, reason) => {
    const { id, customer } = await newOrder();
    const page = await customer.apply({ email, ...more });
    expect(page.heading).toBe(heading);
    expect(page.text).toMatch(words);
    expect(page.text).toContain('you owe nothing');
    expect(button(page)).toBe('https://shop.example/');
    expect(await linesOf(id)).toEqual(['created by seller', 'signup_started by customer', `${event} by checkout`]);
    await until(() => toldOf(id).length === 2, 'two webhooks came');
    expect(toldOf(id)[1]).toEqual([2, 'UNSUCCESSFUL', 'checkout', reason]);
    expect((await customer.send('confirmation', { agree: 'yes' })).status).toBe(303);
    expect((await customer.look('return/')).status).toBe(303);
    expect(await statusOf(id)).toBe('UNSUCCESSFUL');
  },
);

test.each([
  ['referred@b.example', 'You are approved'],
  ['referred-declined@b.example', 'Your application was not approved'],
])('%s waits on a page that updates itself, unless the customer would rather not', async (email, heading) => {
  const { customer } = await newOrder();
  const page = await customer.apply({ email });
  expect(page.heading).toBe('The lender is taking a closer look');
  expect(page.headers.get('Refresh')).toMatch(/^5;url=\/pay\/[^/]+\/$/);
  const still = await customer.look('?still');
  expect([still.heading, still.headers.get('Refresh')]).toEqual([page.heading, null]);
  await until(async () => (await customer.look()).heading === heading, 'the lender has decided');
});

test('an outage of the lender delays the decision, and loses nobody', async () => {
  const { customer } = await newOrder();
  await customer.look();
  await customer.submit('choice', { payment_term: 'PAY_LATER' });
  // Not waited for: the answer waits a moment for the decision itself.
  const sent = customer.submit('application', { ...BUSINESS, email: 'outage@b.example' });
  const waiting = await until(async () => {
    const page = await customer.look();
    return page.heading === 'We are asking the lender' ? page : undefined;
  }, 'the page says what it waits for');
  expect(waiting.headers.get('Refresh')).toMatch(/^5;/);
  await sent;
  await until(async () => (await customer.look()).heading === 'You are approved', 'the lender answered at last');
});

test('every wrong entry is told beside its field, and what was typed stays', async () => {
  const { id, customer } = await newOrder();
  const page = await customer.apply({ company_number: '12', email: 'nobody', business_name: 'Kept Ltd' });
  expect(page.status).toBe(422);
  expect(page.text).toContain('value="Kept Ltd"');
  expect(page.text.match(/aria-invalid="true"/g)).toHaveLength(2);
  expect(page.text).toContain('href="#company_number"');
  expect(await statusOf(id)).toBe('PENDING');
  expect((await customer.submit('application', BUSINESS)).heading).toBe('You are approved');
});

test('how to pay must be chosen, and may be chosen anew until the application is sent', async () => {
  const { id, customer } = await newOrder();
  await customer.look();
  for (const payment_term of ['', 'PAY_NEVER']) {
    const page = await customer.submit('choice', { payment_term });
    expect([page.status, page.heading]).toEqual([422, 'How would you like to pay?']);
  }
  expect(await statusOf(id)).toBe('CREATED');
  expect((await customer.submit('choice', { payment_term: 'PAY_NOW' })).text).toContain('You chose: pay now.');
  expect((await customer.look('?change')).text).toMatch(/value="PAY_NOW"\s+required\s+checked/);
  expect((await customer.submit('choice', { payment_term: 'PAY_LATER' })).text).toContain('You chose: pay later.');
  expect((await customer.submit('application', BUSINESS)).heading).toBe('You are approved');
  const late = await customer.submit('choice', { payment_term: 'PAY_NOW' });
  expect(late.heading).toBe('You are approved');
  expect(late.text).toContain('that one counts');
  expect(await linesOf(id)).toHaveLength(3);
});

test('a way to pay that the order does not allow is no choice', async () => {
  const { id, customer } = await newOrder({ allowed_payment_terms: ['PAY_LATER'] });
  expect((await customer.look()).heading).toBe('Pay later');
  expect((await customer.submit('choice', { payment_term: 'PAY_NOW' })).status).toBe(422);
  expect(await statusOf(id)).toBe('CREATED');
});

test('the same form twice at once is one application, one confirmation, one of each webhook', async () => {
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
    const answers = await twice(part, fields);
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    locations.push(...answers.map(({ headers }) => headers.get('Location')));
    await customer.look();
  }
  expect(locations.some((location) => location!.includes('told'))).toBe(false);
  expect(await linesOf(id)).toEqual([
    'created by seller',
    'signup_started by customer',
    'approved by checkout',
    'completed by customer',
  ]);
  await until(() => toldOf(id).length >= 3, 'the webhooks came');
  expect(toldOf(id)).toHaveLength(3);
});

test('of two tabs the first application counts, and the second is told so', async () => {
  const { customer } = await newOrder();
  await customer.apply({ email: 'referred@b.example' });
  const other = await customer.submit('application', { ...BUSINESS, business_name: 'Another Ltd' });
  expect(other.heading).toBe('The lender is taking a closer look');
  expect(other.text).toContain('that one counts. What you sent just now was not used.');
  const { rows } = await stack.db.query('select business_name from application order by created_at desc limit 1');
  expect(rows[0].business_name).toBe(BUSINESS.business_name);
});

test('an application is for the way to pay that its own page shows, and none is sent where another window chose anew', async () => {
  const { id, url, customer } = await newOrder();
  const other = customerAt(url);
  await other.look();
  await other.submit('choice', { payment_term: 'PAY_NOW' });
  await customer.look();
  await customer.submit('choice', { payment_term: 'PAY_LATER' });
  const told = await other.submit('application', { ...BUSINESS, monthly_turnover: '100' });
  expect([told.status, told.heading]).toEqual([409, 'About your business']);
  expect(told.text).toContain('In another window you have since chosen: pay later.');
  expect(told.text).toContain('value="Bloggs &amp; Daughters Ltd"');
  expect(await statusOf(id)).toBe('PENDING');
  // The page that tells it shows the new choice, and is sent with it.
  expect((await other.submit('application', BUSINESS)).heading).toBe('You are approved');
});

test('only the dates that the page showed can be agreed to', async () => {
  const { id, customer } = await newOrder();
  await customer.apply();
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  const late = await customer.send('confirmation', { agree: 'yes', agreed_on: yesterday });
  expect(late.status).toBe(422);
  expect(late.text).toContain('A new day has begun');
  expect(await statusOf(id)).toBe('APPROVED');
  expect((await customer.send('confirmation', { agree: 'yes' })).status).toBe(303);
  expect(await statusOf(id)).toBe('SUCCESSFUL');
});

test('an offer that is taken up months later is due from then on', async () => {
  const { id, customer } = await newOrder();
  await customer.apply();
  await stack.db.query(
    `update application set submitted_at = submitted_at - interval '100 days', decided_at = decided_at - interval '100 days'
     where order_id = $1`,
    [id],
  );
  const shown = (await customer.look()).text.match(/<th scope="row">[^<]*20\d\d/g);
  const today = londonDate(new Date());
  const dues = [1, 2, 3].map((months) => `<th scope="row">${formatDate(monthsAfter(today, months))}`);
  expect(shown).toEqual(dues);
  await customer.submit('confirmation', { agree: 'yes' });
  await stack.db.query("update application set agreed_at = agreed_at - interval '40 days' where order_id = $1", [id]);
  const agreedOn = londonDate(new Date(Date.now() - 40 * 86_400_000));
  expect((await customer.look()).text).toContain(`<th scope="row">${formatDate(monthsAfter(agreedOn, 1))}`);
});

test('a lost browser goes on in another one where the order stands', async () => {
  const { url, customer } = await newOrder();
  await customer.look();
  await customer.submit('choice', { payment_term: 'PAY_LATER' });
  const elsewhere = customerAt(url);
  expect((await elsewhere.look()).heading).toBe('About your business');
  expect((await elsewhere.submit('application', BUSINESS)).heading).toBe('You are approved');
});

test('a cancel by the seller at each step is what the customer is told, and ends it', async () => {
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
      expect(button(page)).toBe('https://shop.example/');
    }
    expect(await statusOf(id)).toBe('UNSUCCESSFUL');
  }
});

test('who completes nothing goes back to where the seller says that their shop is', async () => {
  const { id, customer } = await newOrder();
  const shopUrl = 'https://market.example/shops/harrow?from=pay&x=1';
  await updateAccount(stack.db, stack.seller.id, { shopUrl });
  const link = shopUrl.replace('&', '&amp;');
  expect((await customer.look()).text).toContain(`<a href="${link}">back to Test Shop Ltd</a>`);
  await stack.api.cancel(id);
  expect(button(await customer.look())).toBe(link);
  await updateAccount(stack.db, stack.seller.id, { shopUrl: null });
  expect(button(await customer.look())).toBe('https://shop.example/');
});

test('a reload of what a form answered leads back to where the order stands', async () => {
  const { url, customer } = await newOrder();
  for (const part of ['choice/', 'application/', 'confirmation/', 'return/']) {
    const page = await customer.look(part);
    expect([page.status, page.headers.get('Location')]).toEqual([303, new URL(url).pathname]);
  }
});

test('an order that somebody else approved says so, and completes nothing', async () => {
  const { id, customer } = await newOrder();
  await customer.look();
  await customer.submit('choice', { payment_term: 'PAY_LATER' });
  await stack.api.progress(id, 'approved');
  const page = await customer.submit('confirmation', { agree: 'yes' });
  expect(page.heading).toBe('Your order is approved');
  expect(await statusOf(id)).toBe('APPROVED');
});

test('an order that has expired says so', async () => {
  const quick = await startCheckout({ env: { ORDER_EXPIRES_AFTER_MS: '1000' } });
  const { order_url: url } = (await quick.api.create()).body.data;
  const customer = customerAt(url);
  await until(async () => (await customer.look()).heading === 'This order has expired', 'it has expired');
  await quick.stop();
});

test('the checkout finds the order of a pay link by the API', async () => {
  const { id, url } = await newOrder();
  const link = new URL(url).pathname.split('/')[2]!;
  const find = (payLinkId: string, key: string) =>
    stack.api.call('GET', `/api/lending/edge/ecommerce/pay_link/${payLinkId}/`, { key });
  const found = await find(link, stack.api.checkoutKey);
  expect([found.status, found.headers.get('Order-Source')]).toEqual([200, expect.stringMatching(/workflow|snapshot/)]);
  expect(found.body).toEqual((await stack.api.get(id)).body);
  for (const unknown of [id, 'x', link.replace(/^.{8}/, '00000000')]) {
    expect((await find(unknown, stack.api.checkoutKey)).status).toBe(404);
  }
  expect((await find(link, stack.seller.key)).status).toBe(401);
});

test('what customers told is deleted a set time after their order has closed, and the pages stay honest', async () => {
  const forgetful = await startCheckout({ env: { APPLICATION_RETENTION_MS: '1500' } });
  const headings: Record<string, string> = {};
  for (const email of ['jo@b.example', 'declined@b.example', 'referred@b.example']) {
    const customer = customerAt((await forgetful.api.create()).body.data.order_url);
    await customer.apply({ email });
    if (email.startsWith('jo')) await customer.submit('confirmation', { agree: 'yes' });
    if (email.startsWith('referred')) continue;
    await until(async () => {
      const { rowCount } = await forgetful.db.query('select from application where email = $1', [email]);
      return rowCount === 0;
    }, 'it is deleted');
    const page = await customer.look();
    headings[email] = page.heading;
    expect(page.text).not.toContain('After checks');
    // The instalments are due for longer than that.
    expect(page.text.includes('<table')).toBe(email.startsWith('jo'));
  }
  expect(headings).toEqual({
    'jo@b.example': 'Your order is complete',
    'declined@b.example': 'Your application was not approved',
  });
  await forgetful.stop();
});

test('while Temporal is away the page loads, says that nothing is lost, and goes on afterwards', async () => {
  const proxy = await startProxy(process.env.TEST_TEMPORAL_ADDRESS!);
  const cut = await startCheckout({ env: { UPDATE_TIMEOUT_MS: '5000' }, address: proxy.address });
  const orders = await Promise.all([cut.api.create(), cut.api.create()]);
  for (const { body } of orders) await until(() => isRunning(cut.client, body.data.id), 'the workflow runs');
  const [fresh, begun] = orders.map(({ body }) => customerAt(body.data.order_url)) as [Customer, Customer];
  await begun.look();
  expect((await begun.submit('choice', { payment_term: 'PAY_NOW' })).heading).toBe('About your business');
  proxy.blackHole();
  expect((await fresh.look()).heading).toBe('How would you like to pay?');
  const stuck = await fresh.submit('choice', { payment_term: 'PAY_NOW' });
  expect([stuck.status, stuck.heading]).toEqual([503, 'We cannot go on just now']);
  expect(stuck.text).toContain('Nothing is lost');
  expect(stuck.text).toContain('Test Shop Ltd');
  expect((await fresh.look()).text).toMatch(/value="PAY_NOW"\s+required\s+checked/);
  expect((await begun.submit('application', BUSINESS)).heading).toBe('We are asking the lender');
  proxy.restore();
  await until(async () => (await begun.look()).heading === 'Confirm your payment', 'the lender was asked', 40_000);
  const details = await until(async () => {
    const page = await fresh.submit('choice', { payment_term: 'PAY_NOW' });
    return page.status === 200 ? page : undefined;
  }, 'the workflow is reached again');
  expect(details.heading).toBe('About your business');
  await cut.stop();
  proxy.stop();
}, 90_000);

test('what a customer agreed to while Temporal is away is told as being completed, and is completed without them', async () => {
  const proxy = await startProxy(process.env.TEST_TEMPORAL_ADDRESS!);
  const cut = await startCheckout({ env: { UPDATE_TIMEOUT_MS: '2000' }, address: proxy.address });
  const { id, order_url: url } = (await cut.api.create({ redirect_url: REDIRECT })).body.data;
  await until(() => isRunning(cut.client, id), 'the workflow runs');
  const customer = customerAt(url);
  expect((await customer.apply()).heading).toBe('You are approved');
  proxy.blackHole();
  const page = await customer.submit('confirmation', { agree: 'yes' });
  expect([page.status, page.heading]).toEqual([200, 'Your order is being completed']);
  expect(page.headers.get('Refresh')).toBe(`5;url=${new URL(url).pathname}return/`);
  expect((await customer.submit('confirmation', {})).heading).toBe('Your order is being completed');
  proxy.restore();
  await until(async () => (await customer.look()).heading === 'Your order is complete', 'it is completed', 40_000);
  expect((await customer.look('return/')).headers.get('Refresh')).toBe(`0;url=${REDIRECT}&orderId=${id}`);
  expect((await timelineOf(cut, id)).at(-1)).toMatchObject({ event: 'completed', actor: 'customer' });
  await cut.stop();
  proxy.stop();
}, 90_000);

test('where Postgres fails, the page says so, and what was typed is not lost with it', async () => {
  const { customer } = await newOrder();
  await customer.look();
  await customer.submit('choice', { payment_term: 'PAY_LATER' });
  await stack.db.query(`
    create function fail() returns trigger language plpgsql as $$ begin raise 'gone' using errcode = '57P01'; end $$;
    create trigger fail before update on application for each row execute function fail()`);
  const page = await customer.submit('application', BUSINESS);
  expect([page.status, page.heading]).toEqual([503, 'About your business']);
  expect(page.text).toContain('role="alert"');
  expect(page.text).toContain('value="Bloggs &amp; Daughters Ltd"');
  await stack.db.query('drop function fail() cascade');
  expect((await customer.submit('application', BUSINESS)).heading).toBe('You are approved');
  await stack.db.query('alter table application rename to application_away');
  await stack.db.query(
    `create function application() returns setof application_away language plpgsql as $$ begin raise 'gone' using errcode = '57P01'; end $$;
     create view application as select * from application()`,
  );
  const gone = await customer.look();
  expect([gone.status, gone.heading]).toEqual([503, 'We cannot go on just now']);
  expect(gone.text).toContain('Nothing is lost');
  await stack.db.query('drop function application() cascade');
  await stack.db.query('alter table application_away rename to application');
  expect((await customer.look()).heading).toBe('You are approved');
});
