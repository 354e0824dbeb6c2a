import { toRequestDigest } from '../../../src/orders/create-order';
import { accept } from '../../support/create-order-body';

/** A released digest never changes: with another one, the repetition of an earlier request would be refused. */
test('the digest of a request begins with its version, and is the same in every release', () => {
  const request = accept({
    allowed_payment_terms: ['PAY_LATER'],
    webhook_url: 'https://shop.example/hooks',
    redirect_url: 'https://shop.example/done',
    cancel_url: 'https://shop.example/cart',
    source: 'woocommerce 9.1',
    meta_data: { cart: [1.5, 'x', { sku: null }], at: true },
  });
  expect(toRequestDigest(request).toString('hex')).toBe(
    '018b1daadeaab27af84452ca79b7453bbbcec76b4108b3f8fca3f3fef5e19d4896',
  );
  expect(toRequestDigest(accept({})).toString('hex')).toBe(
    '0124914b72bb004e2561c418614d9e14a03361afe87dbaed21409de535883c9403',
  );
});
