import type { Lender } from '../../../src/checkout/lender/lender';
import type { PaymentStatus } from '../../../src/checkout/domain/payment';
import type { PaymentProvider } from '../../../src/checkout/payments/payment-provider';
import { expectProblem } from '../../support/problems';
import type { Settlement } from '../../../src/domain/order';
import {
  BUSINESS,
  newCustomer,
  pendingCall,
  proceedCheckout,
  statusOfOrder,
  useCheckout,
} from '../../support/checkout';
import type * as LiveProviders from '../../support/live-providers';
import { BASE } from '../../support/api';
import { useReceiver } from '../../support/receiver';
import { withNewSeller } from '../../support/stack';
import { until } from '../../support/until';

/** What the live adapters name: a settlement, undefined while it is not known, or an error. */
const LATER = () => Promise.resolve(undefined);
let named: () => Promise<Settlement | undefined> = LATER;
/** Of each payment at the live bank. */
let paymentStatus: PaymentStatus;
const SETTLEMENT = { reference: 'PO-17', feePence: 1235, payoutDate: '2026-12-03' };

/** Adapters as an operator connects them: see docs/lenders/connect.md. */
const lender: Lender = {
  reviewTime: 'about 2 hours',
  quote: ({ amountPence }) => ({ instalments: [{ dueInMonths: 1, amountPence }] }),
  decide: async ({ amountPence }) => ({
    kind: 'approved',
    offer: { instalments: [{ dueInMonths: 1, amountPence }] },
    // An adapter that cannot tell decides nevertheless.
    settlement: await named().catch(() => undefined),
  }),
  settlementOf: () => named(),
};
const bank: PaymentProvider = {
  name: 'Open Pay',
  regulation: 'Open Pay Ltd is authorised by the Financial Conduct Authority (number 900000).',
  banks: [{ id: 'high-street', name: 'High Street Bank' }],
  start: () => Promise.resolve('https://high-street.example/approve'),
  statusOf: () => Promise.resolve(paymentStatus),
  cancel: () => Promise.resolve(paymentStatus === 'pending' ? 'cancelled' : paymentStatus),
  refund: () => Promise.resolve(),
  settlementOf: () => named(),
};
jest.mock('../../../src/providers', () =>
  jest.requireActual<typeof LiveProviders>('../../support/live-providers').withLiveProviders(
    () => lender,
    () => bank,
  ),
);

const stack = useCheckout({ sandbox: false });
const receiver = useReceiver();

beforeEach(() => (paymentStatus = 'paid'));

test('an order of a live account uses the live lender and the live bank', async () => {
  paymentStatus = 'pending';
  const { id, customer } = await newCustomer(stack);
  const choice = await customer.look();
  expect(choice.text).toContain('1 monthly payment of £1,234.50');
  expect(choice.text).not.toContain('Sandbox:');
  expect((await customer.look('sandbox-lender/')).status).toBe(404);
  const banks = await customer.submit('choice', { payment_term: 'PAY_NOW' });
  expect([banks.text.includes('High Street Bank'), banks.text.includes('Oak Bank')]).toEqual([true, false]);
  expect(banks.text).toContain(`Pay now is provided by Open Pay. ${bank.regulation}`);
  await customer.submit('payment', { bank: 'high-street' });
  expect(await customer.bankPage()).toBe('https://high-street.example/approve');
  await customer.look();
  await customer.submit('payment/cancel', {});
  const details = await customer.submit('choice', { payment_term: 'PAY_LATER' });
  expect([details.heading, details.text.includes('Test customers')]).toEqual(['About your business', false]);
  // The sandbox lender would decline.
  const decided = await customer.submit('application', { ...BUSINESS, email: 'declined@example.com' });
  expect(decided.heading).toBe('You are approved');
  expect(await statusOfOrder(stack, id)).toBe('APPROVED');
});

test('an order of a sandbox account uses the sandbox even if a live lender and bank are configured', async () => {
  const { customer } = await newCustomer(await withNewSeller(stack, { sandbox: true }));
  expect((await customer.look()).text).toContain('3 monthly payments of £411.50');
  expect((await customer.submit('choice', { payment_term: 'PAY_NOW' })).text).toContain('Oak Bank');
  const declined = await customer.apply({ email: 'declined@example.com' });
  expect(declined.heading).toBe('Pay later was not approved');
});

test.each([
  [
    'throws',
    (): never => {
      throw new Error('no price');
    },
  ],
  ['quotes less than the amount', () => ({ instalments: [{ dueInMonths: 1, amountPence: 1 }] })],
])('if the lender %s, the page shows no price, pay now works, and the public example is a 404', async (_, quote) => {
  paymentStatus = 'pending';
  jest.spyOn(lender, 'quote').mockImplementation(quote);
  const { customer } = await newCustomer(stack);
  const choice = await customer.look();
  expect([choice.status, choice.text.includes('The repayments cannot be shown')]).toEqual([200, true]);
  const details = await customer.submit('choice', { payment_term: 'PAY_LATER' });
  expect([details.status, details.text.includes('Payment method: Pay later.')]).toEqual([200, true]);
  await customer.submit('choice', { payment_term: 'PAY_NOW' });
  await customer.submit('payment', { bank: 'high-street' });
  expect(await customer.bankPage()).toBe('https://high-street.example/approve');
  const example = await stack.api.call('GET', `${BASE}/seller/${stack.seller.id}/repayment_example/?amount=100`);
  expect(expectProblem(example, 404, 'not_found').detail).toBe(
    'The lender quotes no repayments for this amount at the moment.',
  );
  jest.restoreAllMocks();
});

type Customer = Awaited<ReturnType<typeof newCustomer>>['customer'];
const payLater = async (customer: Customer): Promise<void> => {
  await customer.apply();
  await customer.submit('confirmation', { agree: 'yes' });
};
const payNow = async (customer: Customer): Promise<void> => {
  await customer.look();
  await customer.submit('choice', { payment_term: 'PAY_NOW' });
  await customer.submit('payment', { bank: 'high-street' });
  await customer.look('return/');
};

/** Creates an order whose customer pays, and waits until it is SUCCESSFUL. */
async function paidOrder(pay: (customer: Customer) => Promise<void>, on = { ...stack }) {
  const { id, customer } = await newCustomer(on, { webhook_url: receiver.url });
  await pay(customer);
  const webhooks = () => receiver.deliveries.filter(({ body }) => body.data.order.id === id);
  await until(() => webhooks().length === 3, 'the webhook of the completion came');
  return { id, webhooks };
}

const BODY = { reference: 'PO-17', fee: 12.35, payout_date: '2026-12-03' };

describe.each<[string, (customer: Customer) => Promise<void>]>([
  ['lender', payLater],
  ['bank', payNow],
])('a settlement of a %s', (_, pay) => {
  test('that is known at the completion is in its webhook, in the order and in the CSV', async () => {
    named = () => Promise.resolve(SETTLEMENT);
    const { id, webhooks } = await paidOrder(pay);
    expect(webhooks()[2]!.body.data.order).toMatchObject({ status: 'SUCCESSFUL', settlement: BODY });
    expect(webhooks()[1]!.body.data.order).not.toHaveProperty('settlement');
    expect((await stack.api.get(id)).body.data.settlement).toEqual(BODY);
    const path = `${BASE}/seller/${stack.seller.id}/order/?status=SUCCESSFUL`;
    const { text } = await stack.api.call('GET', path, { headers: { Accept: 'text/csv' } });
    expect(text).toMatch(new RegExp(`^${id},.*,PO-17,12.35,2026-12-03\r$`, 'm'));
  });

  test('that is named later is asked for until then, changes the ETag but no version, and stays', async () => {
    named = LATER;
    const { id, webhooks } = await paidOrder(pay);
    const before = await stack.api.get(id);
    expect(before.body.data).toMatchObject({ status: 'SUCCESSFUL' });
    expect(before.body.data).not.toHaveProperty('settlement');
    const waiting = await until(async () => {
      const call = await pendingCall(stack, id);
      return call?.error === 'the settlement is not known yet' ? call : undefined;
    }, 'the checkout waits for the settlement');
    expect(waiting.name).toBe('askForSettlement');
    const known = { 'If-None-Match': before.headers.get('ETag')! };
    expect((await stack.api.get(id, { headers: known })).status).toBe(304);

    named = () => Promise.resolve(SETTLEMENT);
    await proceedCheckout(stack, id);
    const after = await until(async () => {
      const response = await stack.api.get(id, { headers: known });
      return response.status === 200 ? response : undefined;
    }, 'the settlement is shown');
    expect(after.body.data).toEqual({ ...before.body.data, settlement: BODY });
    const { status } = await stack.api.get(id, { headers: { 'If-Match': after.headers.get('ETag')! } });
    expect(status).toBe(200);
    named = () => Promise.resolve({ ...SETTLEMENT, reference: 'another' });
    await proceedCheckout(stack, id);
    const checkout = stack.client.workflow.getHandle(`checkout-${id}`);
    await checkout.result();
    expect((await stack.api.get(id)).body.data.settlement).toEqual(BODY);
    expect(webhooks()).toHaveLength(3);
  });

  test('that cannot be named does not keep the order from completing, and is asked for again', async () => {
    named = () => Promise.reject(new Error('jo@bloggs.example is unknown'));
    const { id } = await paidOrder(pay);
    expect((await stack.api.get(id)).body.data).not.toHaveProperty('settlement');
    const waiting = await until(async () => {
      const call = await pendingCall(stack, id);
      return call?.name === 'askForSettlement' && call.error !== undefined ? call : undefined;
    }, 'the checkout asks again');
    expect(waiting.error).toMatch(/adapter failed: Error$/);
  });
});

test('the lender and the bank of the sandbox name a settlement with the completion', async () => {
  const sandbox = await withNewSeller(stack, { sandbox: true });
  const later = await paidOrder(payLater, sandbox);
  const now = await paidOrder(async (customer) => {
    await customer.decideAtBank(await customer.startPayment(), 'approved');
  }, sandbox);
  for (const { webhooks } of [later, now]) {
    expect(webhooks()[2]!.body.data.order.settlement).toEqual({
      reference: expect.stringMatching(/^SANDBOX-[0-9a-f]{8}$/),
      fee: 12.35,
      payout_date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    });
  }
});
