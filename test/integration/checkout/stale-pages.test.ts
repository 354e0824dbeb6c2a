import { formatDate } from '../../../src/checkout/pages/format';
import { upsertPaymentTerm } from '../../../src/checkout/db/applications';
import { londonDate, monthsAfter } from '../../../src/checkout/domain/calendar';
import { BUSINESS, customerAt, newCustomer, statusOfOrder } from '../../support/checkout';
import { timelineOf } from '../../support/orders';
import { useSharedStack } from '../../support/shared-stack';
import { untilServed } from '../../support/until-served';
import { withApi } from '../../support/with-api';

const DAY_MS = 86_400_000;

const stack = useSharedStack();

test('the customer must choose a payment method and can change it until the application is submitted', async () => {
  const { id, customer } = await newCustomer(stack);
  await customer.look();
  for (const payment_term of ['', 'PAY_NEVER']) {
    const page = await customer.submit('choice', { payment_term });
    expect([page.status, page.heading]).toEqual([422, 'How would you like to pay?']);
  }
  expect(await statusOfOrder(stack, id)).toBe('CREATED');
  expect((await customer.submit('choice', { payment_term: 'PAY_NOW' })).heading).toBe('Choose your bank');
  expect((await customer.submit('choice', { payment_term: 'PAY_LATER' })).text).toContain('Payment method: Pay later');
  expect((await customer.submit('application', BUSINESS)).heading).toBe('You are approved');
  const late = await customer.submit('choice', { payment_term: 'PAY_NOW' });
  expect(late.heading).toBe('You are approved');
  expect(late.text).toContain('An application for this order was already submitted');
  expect(await timelineOf(stack, id)).toHaveLength(3);
});

test('a customer who changes the payment method and back finds what was typed in the application', async () => {
  const { id, customer } = await newCustomer(stack);
  await customer.look();
  await customer.submit('choice', { payment_term: 'PAY_LATER' });
  const banks = await customer.submit('choice', { ...BUSINESS, payment_term: 'PAY_NOW' });
  expect(banks.heading).toBe('Choose your bank');
  expect((await customer.submit('payment', {})).status).toBe(422);
  const details = await customer.submit('choice', { payment_term: 'PAY_LATER' });
  expect(details.heading).toBe('About your business');
  for (const value of ['Bloggs &amp; Daughters Ltd', '01234567', 'jo@bloggs.example', '12,500'])
    expect(details.text).toContain(`value="${value}"`);
  const { rows } = await stack.db.query('select submitted_at, email from application where order_id = $1', [id]);
  expect(rows).toEqual([{ submitted_at: null, email: null }]);
});

test('a payment method that the order does not allow is refused', async () => {
  const { id, customer } = await newCustomer(stack, { allowed_payment_terms: ['PAY_LATER'] });
  expect((await customer.look()).heading).toBe('About your business');
  expect((await customer.submit('choice', { payment_term: 'PAY_NOW' })).status).toBe(422);
  expect((await customer.submit('payment', { bank: 'oak' })).heading).toBe('About your business');
  expect(await statusOfOrder(stack, id)).toBe('CREATED');
});

test('the first application of two tabs is used, and the second tab states it', async () => {
  const { id, customer } = await newCustomer(stack);
  await customer.apply({ email: 'referred@b.example' });
  const second = await customer.submit('application', { ...BUSINESS, business_name: 'Another Ltd' });
  expect(second.heading).toBe('Sandbox Lender is reviewing your application');
  expect(second.text).toContain('We did not use the answers that you just sent.');
  const { rows } = await stack.db.query('select business_name from application where order_id = $1', [id]);
  expect(rows[0].business_name).toBe(BUSINESS.business_name);
});

test('an application is not submitted if another window has changed the payment method that the page shows', async () => {
  const { id, url, customer } = await newCustomer(stack);
  const otherWindow = customerAt(url);
  await otherWindow.look();
  await otherWindow.submit('choice', { payment_term: 'PAY_LATER' });
  await customer.look();
  await customer.submit('choice', { payment_term: 'PAY_NOW' });
  const refused = await otherWindow.submit('application', BUSINESS);
  expect(refused.heading).toBe('Choose your bank');
  expect(refused.text).toContain('You changed the payment method to “Pay now” in another window.');
  expect(await statusOfOrder(stack, id)).toBe('PENDING');
  const { rows } = await stack.db.query('select submitted_at from application where order_id = $1', [id]);
  expect(rows).toEqual([{ submitted_at: null }]);
});

test.each([
  ['PAY_LATER', 'application', BUSINESS, 'You are approved'],
  ['PAY_NOW', 'payment', { bank: 'oak' }, 'Taking you to Oak Bank'],
])(
  'a PENDING order with one payment term, %s, continues without a stored choice',
  async (term, form, fields, heading) => {
    const { id, customer } = await newCustomer(stack, { allowed_payment_terms: [term] });
    expect((await stack.api.progress(id, 'signup_started')).status).toBe(200);
    await customer.look();
    expect((await customer.submit(form, fields)).heading).toBe(heading);
    expect(await timelineOf(stack, id)).toHaveLength(term === 'PAY_LATER' ? 3 : 2);
  },
);

test('a customer continues with the other payment method if the chosen one is no longer offered', async () => {
  const { id, customer } = await newCustomer(stack, { allowed_payment_terms: ['PAY_LATER'] });
  expect((await stack.api.progress(id, 'signup_started')).status).toBe(200);
  // Chosen before the operator removed the payment provider.
  await upsertPaymentTerm(stack.db, id, 'PAY_NOW');
  expect((await customer.look()).heading).toBe('About your business');
  expect((await customer.submit('application', BUSINESS)).heading).toBe('You are approved');
});

test('the receipt of an order that was completed in another way names no payment method', async () => {
  const { id, customer } = await newCustomer(stack);
  expect((await customer.apply()).heading).toBe('You are approved');
  expect((await stack.api.progress(id, 'completed')).status).toBe(200);
  const receipt = await customer.look();
  expect(receipt.heading).toBe('Your order is complete');
  expect(receipt.text).not.toContain('Payment method');
});

test('a form decides on the order as it is when its body arrives, not when its headers did', () =>
  withApi(stack, {}, async (api) => {
    const { id, url, customer } = await newCustomer(stack);
    const { pathname } = new URL(url);
    const opened = await fetch(url);
    const formToken = /form_token" value="([^"]+)/.exec(await opened.text())![1]!;
    const body = new TransformStream<Uint8Array, Uint8Array>();
    const writer = body.writable.getWriter();
    const headersArrived = untilServed(`${pathname}choice/`);
    const slow = fetch(`${api.url}${pathname}choice/`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        Cookie: opened.headers.get('Set-Cookie')!.split(';')[0]!,
        'Content-Type': 'application/x-www-form-urlencoded',
      },
      body: body.readable,
      duplex: 'half',
    });
    await writer.write(Buffer.from('payment_term=PAY_NOW&'));
    await headersArrived;
    expect((await customer.apply({ email: 'failed@b.example' })).heading).toBe('About your business');
    await writer.write(Buffer.from(`form_token=${formToken}`));
    await writer.close();
    expect((await slow).status).toBe(303);
    expect((await customer.look()).heading).toBe('About your business');
    const { rows } = await stack.db.query('select payment_term from application where order_id = $1', [id]);
    expect(rows).toEqual([{ payment_term: 'PAY_LATER' }]);
  }));

test('a customer can agree only to the due dates that the page showed', async () => {
  const { id, customer } = await newCustomer(stack);
  await customer.apply();
  const yesterday = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10);
  const late = await customer.send('confirmation', { agree: 'yes', agreed_on: yesterday });
  expect(late.status).toBe(422);
  expect(late.text).toContain('a new day has started');
  expect(await statusOfOrder(stack, id)).toBe('APPROVED');
  expect((await customer.send('confirmation', { agree: 'yes' })).status).toBe(303);
  expect(await statusOfOrder(stack, id)).toBe('SUCCESSFUL');
});

test('the due dates of an offer that is accepted months later count from the day of the agreement', async () => {
  const { id, customer } = await newCustomer(stack);
  await customer.apply();
  await stack.db.query(
    `update application set submitted_at = submitted_at - interval '100 days', decided_at = decided_at - interval '100 days'
     where order_id = $1`,
    [id],
  );
  const shown = (await customer.look()).text.match(/<th scope="row">[^<]*20\d\d/g);
  const today = londonDate(new Date());
  const expected = [1, 2, 3].map((months) => `<th scope="row">${formatDate(monthsAfter(today, months))}`);
  expect(shown).toEqual(expected);
  await customer.submit('confirmation', { agree: 'yes' });
  await stack.db.query("update application set agreed_at = agreed_at - interval '40 days' where order_id = $1", [id]);
  const agreedOn = londonDate(new Date(Date.now() - 40 * DAY_MS));
  expect((await customer.look()).text).toContain(`<th scope="row">${formatDate(monthsAfter(agreedOn, 1))}`);
});

test('a reload of the response to a form redirects to the current page', async () => {
  const { url, customer } = await newCustomer(stack);
  for (const part of ['choice/', 'application/', 'confirmation/', 'payment/', 'payment/cancel/', 'bank/', 'return/']) {
    const page = await customer.look(part);
    expect([page.status, page.headers.get('Location')]).toEqual([303, new URL(url).pathname]);
  }
});
