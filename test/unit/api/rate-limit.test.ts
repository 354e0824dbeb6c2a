import { createRateLimits } from '../../../src/api/rate-limit';

test('the counts of a flood from many addresses are deleted when their window ends', async () => {
  jest.useFakeTimers();
  const limits = createRateLimits({ windowMs: 10_000, address: 1, key: 1, checkoutKey: 1, payLink: 1 });
  const flood = Array.from({ length: 1000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
  for (const ip of flood) await limits.countAddress({ ip, append: () => undefined });
  // The timer of a count deletes it.
  expect(jest.getTimerCount()).toBe(flood.length);
  jest.advanceTimersByTime(10_000);
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});
