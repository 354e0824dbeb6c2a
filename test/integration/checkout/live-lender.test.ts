import type { Lender } from '../../../src/checkout/lender/lender';
import type { PaymentProvider } from '../../../src/checkout/payments/payment-provider';
import { BASE, apiOf } from '../../support/api';
import { BUSINESS, newCustomer, statusOfOrder, useCheckout } from '../../support/checkout';
import type * as LiveProviders from '../../support/live-providers';
import { expectProblem } from '../../support/problems';
import { createSeller } from '../../support/stack';

/** Adapters as an operator connects them: see docs/lenders/connect.md. */
const mockLender: Lender = {
  reviewTime: 'about 2 hours',
  quote: ({ amountPence }) => ({ instalments: [{ dueInMonths: 1, amountPence }] }),
  decide: ({ amountPence }) =>
    Promise.resolve({ kind: 'approved', offer: { instalments: [{ dueInMonths: 1, amountPence }] } }),
};
const mockBank: PaymentProvider = {
  name: 'Open Pay',
  regulation: 'Open Pay Ltd is authorised by the Financial Conduct Authority (number 900000).',
  banks: [{ id: 'high-street', name: 'High Street Bank' }],
  start: () => Promise.resolve('https://high-street.example/approve'),
  statusOf: () => Promise.resolve('pending'),
  cancel: () => Promise.resolve('cancelled'),
  refund: () => Promise.resolve(),
};
jest.mock('../../../src/providers', () =>
  jest.requireActual<typeof LiveProviders>('../../support/live-providers').withLiveProviders(
    () => mockLender,
    () => mockBank,
  ),
);

const stack = useCheckout({ sandbox: false });

test('an order of a live account uses the live lender and the live bank', async () => {
  const { id, customer } = await newCustomer(stack);
  const choice = await customer.look();
  expect(choice.text).toContain('1 monthly payment of £1,234.50');
  expect(choice.text).not.toContain('Sandbox:');
  expect((await customer.look('sandbox-lender/')).status).toBe(404);
  const banks = await customer.submit('choice', { payment_term: 'PAY_NOW' });
  expect([banks.text.includes('High Street Bank'), banks.text.includes('Oak Bank')]).toEqual([true, false]);
  expect(banks.text).toContain(`Pay now is provided by Open Pay. ${mockBank.regulation}`);
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
  const seller = await createSeller(stack.db, undefined, { sandbox: true });
  const api = apiOf(stack.api.url, seller, stack.api.checkoutKey);
  const { customer } = await newCustomer({ ...stack, api });
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
  jest.spyOn(mockLender, 'quote').mockImplementation(quote);
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
