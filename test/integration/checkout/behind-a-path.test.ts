import { customerAt, useCheckout } from '../../support/checkout';
import { openOrder } from '../../support/orders';

const stack = useCheckout({ env: { CHECKOUT_BASE_URL: 'http://127.0.0.1:1/shop' } });

test('order_url and every link of the pages carry the path of CHECKOUT_BASE_URL, which a proxy strips', async () => {
  const orderId = await openOrder(stack);
  const { order_url: orderUrl, pay_link_id: link } = (await stack.api.get(orderId)).body.data;
  expect(orderUrl).toBe(`http://127.0.0.1:1/shop/pay/${link}/`);
  const customer = customerAt(`${stack.api.url}/pay/${link}/`);
  const { status, text } = await customer.look();
  const addresses = [...text.matchAll(/(?:action|href|src)="(\/[^"]*)"/g)].map(([, address]) => address);
  expect([status, addresses.length > 0]).toEqual([200, true]);
  expect(addresses.filter((address) => !address!.startsWith(`/shop/pay/${link}/`))).toEqual([]);
  const response = await customer.send('choice', { payment_term: 'PAY_LATER' });
  expect([response.status, response.headers.get('Location')]).toEqual([303, `/shop/pay/${link}/`]);
  expect((await fetch(`${stack.api.url}/shop/pay/${link}/`)).status).toBe(404);
});
