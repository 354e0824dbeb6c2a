import { londonDate } from '../../../src/checkout/domain/calendar';
import { BUSINESS, type Customer, customerAt, newCustomer } from '../../support/checkout';
import { useSharedStack } from '../../support/shared-stack';

const stack = useSharedStack();

/** Percent-encoded. The strings that a form can accept come last, because it then leads to another page. */
const NAUGHTY = {
  NUL: '%00',
  'text with a NUL': 'a%00b',
  '10,000 characters': 'x'.repeat(10_000),
  'a high surrogate': '%ED%A0%80',
  'a low surrogate': '%ED%B0%80',
  'an incomplete escape': '%E',
  quotes: `'"%60;--`,
};

/** Opens the page with a form, in a browser of its own. */
type Open = () => Promise<Customer>;

const openOrderPage: Open = async () => {
  const { customer } = await newCustomer(stack);
  await customer.look();
  return customer;
};
const choose =
  (payment_term: string): Open =>
  async () => {
    const customer = await openOrderPage();
    await customer.submit('choice', { payment_term });
    return customer;
  };
const apply =
  (email: string): Open =>
  async () => {
    const { customer } = await newCustomer(stack);
    await customer.apply({ email });
    return customer;
  };
const openInOtherBrowser: Open = async () => {
  const { url, customer } = await newCustomer(stack);
  await customer.apply();
  const other = customerAt(url);
  await other.look();
  return other;
};
const startPayment: Open = async () => {
  const { customer } = await newCustomer(stack);
  await customer.startPayment();
  await customer.look();
  return customer;
};
const openBankPage: Open = async () => {
  const { customer } = await newCustomer(stack);
  const atBank = customerAt(await customer.startPayment());
  await atBank.look();
  return atBank;
};

const FORMS: [form: string, path: string, open: Open, fields: Record<string, string>][] = [
  ['of the payment method', 'choice', openOrderPage, { payment_term: 'PAY_LATER' }],
  ['of the business', 'application', choose('PAY_LATER'), { ...BUSINESS, replaces: '' }],
  ['of the business, after a failure', 'application', apply('failed@b.example'), { ...BUSINESS, replaces: '' }],
  ['that withdraws the application', 'withdraw', apply('failed@b.example'), {}],
  ['of the agreement', 'confirmation', apply('jo@b.example'), { agree: 'yes', agreed_on: londonDate(new Date()) }],
  ['that requests a link', 'continue', openInOtherBrowser, {}],
  ['of a link', `continue/${'A'.repeat(43)}`, openInOtherBrowser, {}],
  ['of the bank', 'payment', choose('PAY_NOW'), { bank: 'oak' }],
  ['that cancels a payment', 'payment/cancel', startPayment, { payment_id: '' }],
  // The path of the page itself.
  ["of the sandbox bank's page", '.', openBankPage, { customer: 'approved', decision: 'approve' }],
];

test.each(
  FORMS.flatMap(([form, path, open, fields]) =>
    ['form_token', ...Object.keys(fields)].map((field) => [field, form, path, open, fields] as const),
  ),
)('no string in the field %s of the form %s causes a server error', async (field, _form, path, open, fields) => {
  const customer = await open();
  for (const [name, encoded] of Object.entries(NAUGHTY)) {
    const { status } = await customer.sendEncoded(path, fields, [field, encoded]);
    const isExpected = field === 'form_token' ? status === 403 : [200, 303, 422].includes(status);
    expect([name, status, isExpected]).toEqual([name, status, true]);
  }
});
