import { toRequestDigest } from '../../../src/orders/create-order';

/** A released digest never changes: with another one, the repetition of an earlier request would be refused. */
test('the digest of a body is the same in every release, whatever the order of its keys', () => {
  const digestOf = (text: string): string => toRequestDigest(JSON.parse(text)).toString('hex');
  const body = '{"data":{"amount":12.5,"reference":"é","meta_data":{"cart":[1.5,"x",{"sku":null}],"at":true}}}';
  const reordered =
    '{ "data": {"meta_data":{"at":true,"cart":[1.50,"x",{"sku":null}]},"reference":"\\u00e9","amount":125e-1} }';
  expect(digestOf(body)).toBe('c8dace783caff6b9f8f45202dc4d633e7c31d64b6609b289135cfffb3b712cb5');
  expect(digestOf(reordered)).toBe(digestOf(body));
});
