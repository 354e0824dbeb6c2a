import { endAt } from '../../../src/temporal/connection';

test.each([
  ['a delay that ends before the deadline stays as it is', 2000, 500, 500],
  ['a delay ends at the deadline', 2000, 6000, 1000],
  ['after the deadline there is no delay', 900, 6000, 0],
  ['without a deadline the delay stays as it is', Infinity, 6000, 6000],
])('in the backoff of the Temporal client, %s', (_, deadline, delayMs, expected) => {
  expect(endAt(deadline, delayMs, 1000)).toBe(expected);
});
