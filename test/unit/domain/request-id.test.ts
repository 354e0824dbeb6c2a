import { isRequestId } from '../../../src/domain/text';

test.each(['order-42', 'a/b:c.d=e+f', 'x'.repeat(128)])('%s is a request id', (id) => {
  expect(isRequestId(id)).toBe(true);
});

// Of the API's header, and of a signal that a person sends: both are logged.
test.each(['sk_test_abc', 'ck_abc', 'whsec_abc', '', 'x'.repeat(129), 'two words', 7, undefined])(
  '%j is not a request id',
  (id) => {
    expect(isRequestId(id)).toBe(false);
  },
);
