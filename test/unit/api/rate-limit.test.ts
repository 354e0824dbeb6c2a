import { pino } from 'pino';
import { createRateLimits } from '../../../src/api/rate-limit';
import { createPool } from '../../../src/db/pool';

test('counts of windows that ended an hour ago are deleted every five minutes', async () => {
  jest.useFakeTimers();
  const db = createPool('postgres://unused', 1, () => undefined);
  const query = jest.spyOn(db, 'query').mockResolvedValue({ rows: [] } as never);
  const limits = { windowMs: 10_000, address: 1, key: 1, checkoutKey: 1, payLink: 1 };
  createRateLimits(db, limits, pino({ level: 'silent' }));
  await jest.advanceTimersByTimeAsync(5 * 60_000);
  const deletion = { text: 'DELETE FROM "rate_limit" WHERE expire < $1', values: [Date.now() - 3_600_000] };
  expect(query.mock.calls).toEqual([[expect.objectContaining(deletion)]]);
  jest.useRealTimers();
});
