import { pino } from 'pino';
import { createRateLimits } from '../../../src/api/rate-limit';
import { createPool } from '../../../src/db/pool';

test('counts of ended windows are deleted every minute', () => {
  jest.useFakeTimers();
  const db = createPool('postgres://unused', 1, () => undefined);
  const query = jest.spyOn(db, 'query').mockResolvedValue({ rows: [] } as never);
  const limits = { windowMs: 10_000, address: 1, key: 1, checkoutKey: 1, payLink: 1 };
  createRateLimits(db, limits, pino({ level: 'silent' }));
  jest.advanceTimersByTime(120_000);
  expect(query.mock.calls.map(([sql]) => sql)).toEqual(Array(2).fill('delete from rate_limit where expire < $1'));
  jest.useRealTimers();
});
