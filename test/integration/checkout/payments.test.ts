import { findLastPayment } from '../../../src/checkout/db/payments';
import { createSandboxPaymentStore } from '../../../src/checkout/db/sandbox-payments';
import { BASE } from '../../support/api';
import { type Customer, customerAt, newCustomer, proceedCheckout, statusOfOrder } from '../../support/checkout';
import { timelineOf } from '../../support/orders';
import { useReceiver } from '../../support/receiver';
import { useSharedStack } from '../../support/shared-stack';
import { until } from '../../support/until';

// Each test ends the bank's delay itself.
const stack = useSharedStack();
const receiver = useReceiver();

const newOrder = () => newCustomer(stack, { webhook_url: receiver.url });
const workflow = (id: string) => stack.client.workflow.getHandle(`order-${id}`);
const checkout = (id: string) => stack.client.workflow.getHandle(`checkout-${id}`);
const statusOf = (id: string) => statusOfOrder(stack, id);
const untilStatus = (id: string, status: string) =>
  until(async () => (await statusOf(id)) === status, `the order is ${status}`);
const eventsOf = async (id: string) => (await timelineOf(stack, id)).map(({ event }) => event);
const paymentsOf = async (id: string) =>
  (
    await stack.db.query<{ status: string }>('select status from payment where order_id = $1 order by started_at', [id])
  ).rows.map(({ status }) => status);
const paymentOf = async (id: string) => (await findLastPayment(stack.db, id))!;
/** What the bank has done with the last payment of an order. */
const atBank = async (id: string) => createSandboxPaymentStore(stack.db).find((await paymentOf(id)).id);
const expireAtBank = async (id: string) =>
  stack.db.query("update sandbox_payment set started_at = now() - interval '16 minutes' where id = $1", [
    (await paymentOf(id)).id,
  ]);
/** Makes the bank confirm or refuse a slow payment, or cancel an abandoned one. */
const endBankDelay = (id: string) =>
  stack.db.query(
    `update sandbox_payment set decided_at = now() - interval '2 hours'
     where id in (select id from payment where order_id = $1)`,
    [id],
  );
/** Approves the payment and returns from the bank while it still processes it. Returns the page that the customer sees. */
async function returnEarly(customer: Customer, bankPage: string) {
  await customer.leaveAtBank(bankPage, 'slow');
  await customer.look('return/');
  return customer.look();
}
const startedAgo = async (id: string, time: string) =>
  stack.db.query('update payment set started_at = now() - $2::interval where id = $1', [
    (await paymentOf(id)).id,
    time,
  ]);
test.concurrent('a payment that the bank confirms completes the order, with one webhook for each change', async () => {
  const { id, customer } = await newOrder();
  const page = await customer.decideAtBank(await customer.startPayment(), 'approved');
  expect([page.heading, page.text.includes('Oak Bank paid it')]).toEqual(['Your order is complete', true]);
  expect(await eventsOf(id)).toEqual(['created', 'signup_started', 'approved', 'completed']);
  await until(() => receiver.deliveries.filter(({ body }) => body.data.order.id === id).length === 3, 'webhooks came');
  expect(await paymentsOf(id)).toEqual(['paid']);
  expect((await stack.api.get(id)).body.data.payment_term).toBe('PAY_NOW');
});

test.concurrent('a confirmed payment completes the order even if the browser never returns', async () => {
  const { id, customer } = await newOrder();
  const bankPage = await customer.startPayment();
  await customer.leaveAtBank(bankPage, 'slow');
  await endBankDelay(id);
  await untilStatus(id, 'SUCCESSFUL');
  expect(await paymentsOf(id)).toEqual(['paid']);
  expect(await eventsOf(id)).toEqual(['created', 'signup_started', 'approved', 'completed']);
  expect((await customer.look()).heading).toBe('Your order is complete');
});

test.concurrent('a confirmed payment completes the order after both workflows were terminated', async () => {
  const { id, customer } = await newOrder();
  const bankPage = await customer.startPayment();
  for (const run of [workflow(id), checkout(id)]) await run.terminate('an operator pressed the button');
  await customer.leaveAtBank(bankPage, 'approved');
  // The search for unfinished checkouts finds payments that are older than some seconds.
  await startedAgo(id, '2 minutes');
  await untilStatus(id, 'SUCCESSFUL');
});

test.concurrent('a payment completes an order that is already approved and whose run was terminated', async () => {
  const { id, customer } = await newOrder();
  const bankPage = await customer.startPayment();
  const body = { data: { event: 'approved' } };
  expect((await stack.api.call('POST', `${BASE}/order/${id}/simulate/`, { body })).status).toBe(200);
  await workflow(id).terminate('an operator pressed the button');
  expect((await customer.look()).heading).toBe('Approve the payment at Oak Bank');
  await customer.leaveAtBank(bankPage, 'slow');
  await endBankDelay(id);
  await untilStatus(id, 'SUCCESSFUL');
  expect(await eventsOf(id)).toEqual(['created', 'signup_started', 'approved', 'completed']);
});

test.concurrent.each([
  ['refused', 'approve', 'refused', 'Oak Bank refused the payment.'],
  ['slow-refused', 'approve', 'refused', 'Oak Bank refused the payment.'],
  ['abandoned', 'approve', 'cancelled', 'The payment at Oak Bank was cancelled.'],
  ['approved', 'cancel', 'cancelled', 'The payment at Oak Bank was cancelled.'],
])('the customer %s who presses %s can pay again: the payment is %s', async (name, decision, status, text) => {
  const { id, customer } = await newOrder();
  await customer.decideAtBank(await customer.startPayment(), name, decision);
  await endBankDelay(id);
  const page = await until(async () => {
    const shown = await customer.look();
    return shown.heading === 'Choose your bank' ? shown : undefined;
  }, 'the customer can choose a bank again');
  expect(page.text).toContain(`${text} No money was taken.`);
  expect(await statusOf(id)).toBe('PENDING');
  const again = await customer.decideAtBank(await customer.startPayment('harbour'), 'approved');
  expect(again.heading).toBe('Your order is complete');
  expect(await paymentsOf(id)).toEqual([status, 'paid']);
});

test.concurrent('the wait for the bank counts from the approval, not from the choice of the bank', async () => {
  const { id, customer } = await newOrder();
  const bankPage = await customer.startPayment();
  await startedAgo(id, '10 minutes');
  const confirming = await returnEarly(customer, bankPage);
  expect(confirming.heading).toBe('Your bank is confirming the payment');
  expect(confirming.text).toContain('This usually takes a few seconds.');
  expect(confirming.headers.get('Refresh')).toMatch(/^5;/);
  const { approvedAt } = await paymentOf(id);
  await endBankDelay(id);
  // Its next check by itself is a minute later.
  await proceedCheckout(stack, id);
  await untilStatus(id, 'SUCCESSFUL');
  expect((await paymentOf(id)).approvedAt).toEqual(approvedAt);
});

test.concurrent('choosing another bank while a payment is in progress shows which bank it is at', async () => {
  const { id, url, customer } = await newOrder();
  await customer.startPayment();
  const { pathname } = new URL(url);
  const locationFor = async (bank: string) => (await customer.send('payment', { bank })).headers.get('Location');
  expect(await locationFor('oak')).toBe(`${pathname}bank/`);
  expect(await locationFor('harbour')).toBe(pathname);
  const page = await customer.look();
  expect([page.heading, page.text.includes('Choose another bank')]).toEqual(['Approve the payment at Oak Bank', true]);
  expect(await paymentsOf(id)).toEqual(['pending']);
});

test.concurrent('"Choose another bank" in a tab cancels the payment that the tab shows, and no later one', async () => {
  const { id, customer } = await newOrder();
  await customer.startPayment();
  const first = (await paymentOf(id)).id;
  const cancel = async (payment: string) => {
    await customer.look();
    await customer.submit('payment/cancel', { payment_id: payment });
    return customer.look();
  };
  expect((await cancel(first)).heading).toBe('Choose your bank');
  await customer.submit('payment', { bank: 'harbour' });
  expect((await cancel(first)).heading).toBe('Approve the payment at Harbour Bank');
  expect(await paymentsOf(id)).toEqual(['cancelled', 'pending']);
});

test.concurrent('a payment that nobody approves is cancelled by the bank after 15 minutes', async () => {
  const { id, customer } = await newOrder();
  const bankPage = await customer.startPayment();
  await expireAtBank(id);
  await proceedCheckout(stack, id);
  await until(async () => (await paymentsOf(id))[0] === 'cancelled', 'the workflow records it');
  await customer.leaveAtBank(bankPage, 'approved');
  expect(await atBank(id)).toMatchObject({ customer: null, isCancelled: true });
  expect(await statusOf(id)).toBe('PENDING');
});

test.concurrent('a payment whose customer never reached the bank is cancelled after 15 minutes', async () => {
  const { id, customer } = await newOrder();
  await customer.look();
  await customer.submit('choice', { payment_term: 'PAY_NOW' });
  await customer.send('payment', { bank: 'oak' });
  expect(await atBank(id)).toBeUndefined();
  await startedAgo(id, '16 minutes');
  await proceedCheckout(stack, id);
  await until(async () => (await paymentsOf(id))[0] === 'cancelled', 'the workflow cancels it');
  // The bank no longer starts it.
  expect(await atBank(id)).toMatchObject({ isCancelled: true });
  const page = await customer.look();
  expect(page.heading).toBe('Choose your bank');
  expect(page.text).toContain('The payment at Oak Bank was cancelled. No money was taken.');
  const again = await customer.decideAtBank(await customer.startPayment('harbour'), 'approved');
  expect(again.heading).toBe('Your order is complete');
  expect(await paymentsOf(id)).toEqual(['cancelled', 'paid']);
});

test.concurrent('double clicks, two tabs and two browsers start one payment, which is paid once', async () => {
  const { id, url, customer } = await newOrder();
  const other = customerAt(url);
  for (const browser of [customer, other]) {
    await browser.look();
    await browser.submit('choice', { payment_term: 'PAY_NOW' });
  }
  const pay = (browser: Customer, bank: string) => browser.send('payment', { bank });
  const sent = await Promise.all([
    pay(customer, 'oak'),
    pay(customer, 'oak'),
    pay(other, 'harbour'),
    pay(other, 'oak'),
  ]);
  expect(sent.map(({ status }) => status)).toEqual([303, 303, 303, 303]);
  expect(await paymentsOf(id)).toEqual(['pending']);
  const headings = [(await customer.look()).heading, (await other.look()).heading];
  expect(headings.sort()).toEqual([
    'A payment for this order is in progress',
    expect.stringMatching(/^Approve the payment at (Oak|Harbour) Bank$/),
  ]);
  const owner = (await customer.look()).heading.startsWith('Approve') ? customer : other;
  const bankPage = await owner.bankPage();
  expect(await (owner === customer ? other : customer).bankPage()).not.toBe(bankPage);
  await Promise.all([owner.leaveAtBank(bankPage, 'approved'), owner.leaveAtBank(bankPage, 'approved')]);
  await Promise.all([customer.look(), other.look(), customer.look('return/'), other.look('return/')]);
  await untilStatus(id, 'SUCCESSFUL');
  expect(await eventsOf(id)).toEqual(['created', 'signup_started', 'approved', 'completed']);
  for (const browser of [customer, other]) await browser.submit('payment', { bank: 'oak' });
  expect(await paymentsOf(id)).toEqual(['paid']);
});

test.concurrent(
  'a payment in progress blocks an application, and an application in progress blocks a payment',
  async () => {
    const paying = await newOrder();
    await paying.customer.startPayment();
    expect((await paying.customer.submit('choice', { payment_term: 'PAY_LATER' })).heading).toMatch(
      /^Approve the payment/,
    );
    expect((await paying.customer.apply()).heading).toMatch(/^Approve the payment/);
    const applying = await newOrder();
    await applying.customer.apply({ email: 'referred@b.example' });
    await applying.customer.submit('payment', { bank: 'oak' });
    expect(await paymentsOf(applying.id)).toEqual([]);
  },
);

test.concurrent(
  'no money is taken if the seller cancels before the customer approves at the bank, and the page states it',
  async () => {
    const { id, customer } = await newOrder();
    const bankPage = await customer.startPayment();
    expect((await stack.api.cancel(id)).status).toBe(200);
    // The worker cancels the payment without the browser.
    await until(async () => (await paymentsOf(id))[0] === 'cancelled', 'the payment is cancelled');
    await customer.leaveAtBank(bankPage, 'approved');
    expect(await atBank(id)).toMatchObject({ customer: null, isCancelled: true });
    const page = await customer.look();
    expect(page.heading).toBe('This order was cancelled');
    expect(page.text).toContain('No payment was taken');
    expect(await statusOf(id)).toBe('UNSUCCESSFUL');
  },
);

test.concurrent(
  'a payment that the bank is still confirming when the order is cancelled is refunded as soon as it is paid',
  async () => {
    const { id, url, customer } = await newOrder();
    const confirming = await returnEarly(customer, await customer.startPayment());
    expect(confirming.heading).toBe('Your bank is confirming the payment');
    // The shop's cart would invite the customer to buy twice.
    const other = await customerAt(url).look();
    for (const { text } of [confirming, other]) expect(text).not.toContain('Return to Test Shop');
    expect(other.heading).toBe('A payment for this order is being confirmed');
    expect(other.text).not.toMatch(/about 15 minutes|You can then pay here/);
    expect((await stack.api.cancel(id)).status).toBe(200);
    expect((await customer.look()).text).toContain('it is returned to your account');
    await endBankDelay(id);
    // The worker refunds it without the browser.
    await until(async () => (await paymentsOf(id))[0] === 'refunded', 'it is refunded');
    expect(await atBank(id)).toMatchObject({ customer: 'slow', isRefunded: true });
    const page = await customer.look();
    expect(page.heading).toBe('This order was cancelled');
    expect(page.text).toContain('Your payment of £1,234.50 was returned to your bank account.');
    expect(await statusOf(id)).toBe('UNSUCCESSFUL');
  },
);

test.concurrent(
  'a customer who is declined for Pay later pays now, and another browser learns neither reason nor bank',
  async () => {
    const { id, url, customer } = await newOrder();
    expect((await customer.apply({ email: 'declined@b.example' })).heading).toBe('Pay later was not approved');
    const other = customerAt(url);
    await other.look();
    await other.submit('payment', { bank: 'oak' });
    expect(await paymentsOf(id)).toEqual([]);
    await customer.look();
    await customer.submit('payment', { bank: 'oak' });
    const page = await customer.decideAtBank(await customer.bankPage(), 'approved');
    expect(page.heading).toBe('Your order is complete');
    expect(await eventsOf(id)).toEqual(['created', 'signup_started', 'approved', 'completed']);
    expect((await other.look()).text).not.toMatch(/checked the details|Oak Bank/);
  },
);
