import { STANDARD_SCHEDULE, retryDelay, yieldsToNext } from '../../../src/domain/webhook';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const failed = { hasSuccessor: false, retryAfterMs: 0, random: 0.5 };

test('the tenth attempt is the last one', () => {
  expect(retryDelay(STANDARD_SCHEDULE, { ...failed, attempt: 10 })).toBeNull();
  expect(retryDelay(STANDARD_SCHEDULE, { ...failed, attempt: 11 })).toBeNull();
});

test('the ten attempts take 75 hours, 35 minutes and 5 seconds, and the first one is immediate', () => {
  expect(STANDARD_SCHEDULE.delaysMs[0]).toBe(0);
  expect(STANDARD_SCHEDULE.delaysMs.reduce((sum, delay) => sum + delay)).toBe(75 * HOUR + 35 * MINUTE + 5 * SECOND);
});

test('the jitter spreads a delay by 10 % in both directions', () => {
  const delays = [0, 0.25, 0.5, 0.75, 1 - Number.EPSILON].map((random) =>
    retryDelay(STANDARD_SCHEDULE, { ...failed, attempt: 2, random }),
  );
  expect(delays).toEqual([270_000, 285_000, 300_000, 315_000, 330_000]);
});

test('Retry-After is a minimum delay without jitter', () => {
  for (const random of [0, 0.5, 0.999]) {
    expect(retryDelay(STANDARD_SCHEDULE, { ...failed, attempt: 1, random, retryAfterMs: 90_000 })).toBe(90_000);
  }
  expect(retryDelay(STANDARD_SCHEDULE, { ...failed, attempt: 3, retryAfterMs: 90_000 })).toBe(30 * MINUTE);
});

test('Retry-After adds no attempt after the last one', () => {
  expect(retryDelay(STANDARD_SCHEDULE, { ...failed, attempt: 10, retryAfterMs: 90_000 })).toBeNull();
});

test('the fifth attempt is the last one while a later event waits', () => {
  const delayAfter = (attempt: number) => retryDelay(STANDARD_SCHEDULE, { ...failed, attempt, hasSuccessor: true });
  expect([1, 2, 3, 4].map(delayAfter)).toEqual([5 * SECOND, 5 * MINUTE, 30 * MINUTE, HOUR]);
  expect([5, 6, 10].map(delayAfter)).toEqual([null, null, null]);
});

test('an event yields to a later one after five failed attempts', () => {
  expect([0, 4, 5, 9].map((attempts) => yieldsToNext(STANDARD_SCHEDULE, attempts))).toEqual([false, false, true, true]);
});

test('a schedule with one delay has one attempt', () => {
  const single = { ...STANDARD_SCHEDULE, delaysMs: [0] };
  expect(retryDelay(single, { ...failed, attempt: 1 })).toBeNull();
});

test('no wait is longer than an hour while a later event waits', () => {
  const longRetryAfter = { ...failed, attempt: 1, retryAfterMs: 24 * 60 * MINUTE };
  expect(retryDelay(STANDARD_SCHEDULE, longRetryAfter)).toBe(24 * 60 * MINUTE);
  expect(retryDelay(STANDARD_SCHEDULE, { ...longRetryAfter, hasSuccessor: true })).toBe(60 * MINUTE);
});
