import { openOrder } from '../../support/orders';
import { customerAt, startCheckout } from '../../support/checkout';

test('behind a proxy that strips the path of CHECKOUT_BASE_URL, order_url and all that the pages link to carry it', async () => {
  const stack = await startCheckout({ env: { CHECKOUT_BASE_URL: 'http://127.0.0.1:1/shop' } });
  const orderId = await openOrder(stack);
  const { order_url: orderUrl, pay_link_id: link } = (await stack.api.get(orderId)).body.data;
  expect(orderUrl).toBe(`http://127.0.0.1:1/shop/pay/${link}/`);
  const customer = customerAt(`${stack.api.url}/pay/${link}/`);
  const { status, text } = await customer.look();
  const addresses = [...text.matchAll(/(?:action|href|src)="(\/[^"]*)"/g)].map(([, address]) => address);
  expect([status, addresses.length > 0]).toEqual([200, true]);
  expect(addresses.filter((address) => !address!.startsWith(`/shop/pay/${link}/`))).toEqual([]);
  const answer = await customer.send('choice', { payment_term: 'PAY_LATER' });
  expect([answer.status, answer.headers.get('Location')]).toEqual([303, `/shop/pay/${link}/`]);
  expect((await fetch(`${stack.api.url}/shop/pay/${link}/`)).status).toBe(404);
  await stack.stop();
});
