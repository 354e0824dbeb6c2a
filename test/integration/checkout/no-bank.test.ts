import type { Lender } from '../../../src/checkout/lender/lender';
import { BUSINESS, newCustomer, statusOfOrder, useCheckout } from '../../support/checkout';
import type * as LiveProviders from '../../support/live-providers';
import { expectProblem } from '../../support/problems';
import { until } from '../../support/until';

const mockLender: Lender = {
  reviewTime: 'about 2 hours',
  quote: ({ amountPence }) => ({ instalments: [{ dueInMonths: 1, amountPence }] }),
  decide: ({ applicant }) =>
    Promise.resolve(
      applicant.email.startsWith('failed') ? { kind: 'failed' } : { kind: 'declined', code: 'affordability' },
    ),
};
jest.mock('../../../src/providers', () =>
  jest.requireActual<typeof LiveProviders>('../../support/live-providers').withLiveProviders(() => mockLender),
);

/** Of a live account, with a lender and without a bank. */
const stack = useCheckout({ sandbox: false });

test('without a bank, customers are not offered to pay now, and a decline ends the order', async () => {
  const { id, customer } = await newCustomer(stack);
  const first = await customer.look();
  expect([first.heading, first.text.includes('Pay now')]).toEqual(['About your business', false]);
  const declined = await customer.submit('application', { ...BUSINESS, email: 'joe@bloggs.example' });
  expect(declined.text).not.toContain('Pay now');
  await until(async () => (await statusOfOrder(stack, id)) === 'UNSUCCESSFUL', 'the order is declined');
});

/** An order from before the bank was gone: a new one that can only be paid now is refused. */
async function newPayNowCustomer() {
  const opened = await newCustomer(stack);
  await stack.db.query(`update orders set allowed_payment_terms = '{PAY_NOW}' where id = $1`, [opened.id]);
  return opened;
}

test('an order that can only be paid now is refused without a bank', async () => {
  const response = await stack.api.create({ allowed_payment_terms: ['PAY_NOW'] });
  expect(expectProblem(response, 422, 'checkout_not_ready').detail).toContain('no payment provider is connected');
});

test('an earlier order that can only be paid now has no pages without a bank', async () => {
  const { customer } = await newPayNowCustomer();
  const page = await customer.look();
  expect([page.status, page.heading]).toEqual([503, 'This shop cannot take payments here yet']);
});

test('an order that can only be paid now shows what has happened to it, also when the bank is gone', async () => {
  const { id, customer } = await newPayNowCustomer();
  const { rows } = await stack.db.query<{ id: string }>(
    `insert into payment (order_id, bank, status) values ($1, 'oak', 'processing') returning id`,
    [id],
  );
  expect((await customer.look()).status).toBe(200);
  await stack.db.query(`update payment set status = 'refunded', closed_at = now() where id = $1`, [rows[0]!.id]);
  expect((await customer.look()).status).toBe(503);
  await stack.api.cancel(id);
  expect((await customer.look()).heading).toBe('This order was cancelled');
});

test('a customer who had chosen to pay now after a failure can apply again when the bank is gone', async () => {
  const { id, customer } = await newCustomer(stack);
  const first = await customer.look();
  await customer.submit('application', { ...BUSINESS, email: 'failed@bloggs.example' });
  await stack.db.query(`update application set payment_term = 'PAY_NOW' where order_id = $1`, [id]);
  const page = await customer.look();
  expect([page.status, page.heading]).toEqual([200, first.heading]);
});
