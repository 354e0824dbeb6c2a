import { createOrderRequestSchema } from '../../../src/contracts/request-schemas';
import { PRODUCTION, accept, errorsOfData, productionSchema } from '../../support/create-order-body';

const httpToo = createOrderRequestSchema({ ...PRODUCTION, httpsOnly: false });

describe.each(['redirect_url', 'cancel_url'] as const)('%s', (field) => {
  test.each([
    'https://shop.example',
    'https://shop.example/done?a=b%20c+d&e#top',
    'https://bücher.example/straße',
    'https://shop.example/done?orderid=1&xorderId=1&a=orderId',
    'https://shop.example/done#?orderId=1',
    'https://localhost/done',
    `https://shop.example/${'a'.repeat(2027)}`,
  ])('%s is accepted', (url) => {
    expect(accept({ [field]: url })[field]).toBe(url);
  });

  test.each([
    'http://shop.example/done',
    '',
    '//shop.example/done',
    'https:shop.example',
    'https://shop.example:99999/',
    'https://shop.example\\@evil.example/',
    'https://user@shop.example/',
    ' https://shop.example/',
    'https://shop.example/\r\nSet-Cookie: a=b',
    'https://shop.example/\u0000',
    'https://sh\u00adop.example/',
    'https://shop.example/\ud800',
    `https://shop.example/${'a'.repeat(2028)}`,
    `https://shop.example/?${'ü'.repeat(2000)}`,
    'https://shop.example/finish?orderId=1',
    'https://shop.example/finish?a=1&orderId',
    'https://shop.example/finish?%6Frder%49d=1#top',
  ])('%j is refused', (url) => {
    expect(errorsOfData({ [field]: url })).toEqual([`/data/${field} invalid_url`]);
  });

  test.each([1, true, [], {}, ['https://shop.example/']])('%j is refused because it is not a string', (url) => {
    expect(errorsOfData({ [field]: url })).toEqual([`/data/${field} invalid_type`]);
  });

  test('plain http is accepted outside production, but no other scheme', () => {
    expect(accept({ [field]: 'http://localhost:3000/done' }, httpToo)[field]).toBeDefined();
    expect(errorsOfData({ [field]: 'ftp://localhost/' }, httpToo)).toEqual([`/data/${field} invalid_url`]);
    expect(errorsOfData({ [field]: 'http://a@localhost/' }, httpToo)).toEqual([`/data/${field} invalid_url`]);
  });
});

describe('webhook_url', () => {
  test('a URL that the delivery rules allow is accepted', () => {
    expect(accept({ webhook_url: 'https://shop.example/hooks?a=1' }).webhook_url).toBe(
      'https://shop.example/hooks?a=1',
    );
  });

  test.each(['http://shop.example/hooks', 'https://127.0.0.1/hooks', ''])('%j is refused', (webhook_url) => {
    expect(errorsOfData({ webhook_url })).toEqual(['/data/webhook_url invalid_url']);
  });

  test('the error contains the reason from the delivery rules', () => {
    expect(errorsOfData({ webhook_url: 'http://shop.example/' }, productionSchema, 'detail')).toEqual([
      '/data/webhook_url must use https',
    ]);
  });

  test.each([1, false, [], {}])('%j is refused because it is not a string', (webhook_url) => {
    expect(errorsOfData({ webhook_url })).toEqual(['/data/webhook_url invalid_type']);
  });
});
