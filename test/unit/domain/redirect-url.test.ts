import { withOrderId } from '../../../src/domain/web-url';

const ID = '6f0c2a52-8a3e-4e63-9d0a-52f1f6f0a111';

test.each([
  ['https://shop.example', `https://shop.example/?orderId=${ID}`],
  ['https://shop.example/done?', `https://shop.example/done?orderId=${ID}`],
  ['https://shop.example/done?a=1', `https://shop.example/done?a=1&orderId=${ID}`],
  ['https://shop.example/done?a=1#/route?b=2', `https://shop.example/done?a=1&orderId=${ID}#/route?b=2`],
])('withOrderId changes %s to %s', (url, expected) => {
  expect(withOrderId(url, ID)).toBe(expected);
});

test.each(['a=%2B%26%3D', 'sig=q1+/w==', 'empty=&flag', 'caf%C3%A9=%e2%82%ac', "q='x'~*()"])(
  'other parameters keep their exact text: %s',
  (search) => {
    const written = search.replaceAll("'", '%27');
    expect(withOrderId(`https://shop.example/?${search}`, ID)).toBe(`https://shop.example/?${written}&orderId=${ID}`);
  },
);

test.each(['orderid=1', 'orderID=1', 'xorderId=1', 'orderId[]=1', 'order+Id=1', '?orderId=1', 'a=orderId=1'])(
  'a parameter with a similar name is kept: %s',
  (search) => {
    expect(withOrderId(`https://shop.example/?${search}`, ID)).toBe(`https://shop.example/?${search}&orderId=${ID}`);
  },
);
