import { PaymentProviderUnavailable } from '../../../src/checkout/payments/payment-provider';
import type * as SandboxBank from '../../../src/checkout/sandbox/sandbox-bank';
import { buttonTarget, customerAt } from '../../support/checkout';
import { openOrder } from '../../support/orders';
import { useSharedStack } from '../../support/shared-stack';
import { useApi } from '../../support/with-api';

const mockDown = () => Promise.reject(new PaymentProviderUnavailable('the bank is down'));
jest.mock('../../../src/checkout/sandbox/sandbox-bank', () => {
  const actual = jest.requireActual<typeof SandboxBank>('../../../src/checkout/sandbox/sandbox-bank');
  const createSandboxBank: typeof actual.createSandboxBank = (...options) => ({
    ...actual.createSandboxBank(...options),
    start: mockDown,
    cancel: mockDown,
  });
  return { ...actual, createSandboxBank };
});

const stack = useSharedStack();
const behind = useApi(stack, { CHECKOUT_BASE_URL: 'http://127.0.0.1:1/shop' });

test('order_url and every link of the pages carry the path of CHECKOUT_BASE_URL, which a proxy strips', async () => {
  const orderId = await openOrder(stack);
  const { order_url: orderUrl, pay_link_id: link } = (await behind.api.get(orderId)).body.data;
  expect(orderUrl).toBe(`http://127.0.0.1:1/shop/pay/${link}/`);
  const customer = customerAt(`${behind.api.url}/pay/${link}/`);
  const { status, text } = await customer.look();
  const addresses = [...text.matchAll(/(?:action|href|src)="(\/[^"]*)"/g)].map(([, address]) => address);
  expect([status, addresses.length > 0]).toEqual([200, true]);
  expect(addresses.filter((address) => !address!.startsWith(`/shop/pay/${link}/`))).toEqual([]);
  const response = await customer.send('choice', { payment_term: 'PAY_LATER' });
  expect([response.status, response.headers.get('Location')]).toEqual([303, `/shop/pay/${link}/`]);
  expect((await fetch(`${behind.api.url}/shop/pay/${link}/`)).status).toBe(404);
});

test('while the bank is unavailable, the link to reload the page carries the path of CHECKOUT_BASE_URL', async () => {
  const orderId = await openOrder(stack);
  const { pay_link_id: link } = (await behind.api.get(orderId)).body.data;
  const customer = customerAt(`${behind.api.url}/pay/${link}/`);
  await customer.look();
  await customer.send('choice', { payment_term: 'PAY_NOW' });
  await customer.send('payment', { bank: 'oak' });
  await customer.look();
  for (const page of [await customer.look('bank/'), await customer.send('payment/cancel', {})]) {
    expect([page.status, page.heading]).toEqual([503, 'The bank is not responding']);
    expect(buttonTarget(page)).toBe(`/shop/pay/${link}/`);
  }
});
