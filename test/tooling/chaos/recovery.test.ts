import { firstTryShare, recoveryMs } from '../../chaos/recovery';

/** Successful calls at a steady rate, per second. */
const calls = (perSecond: number, from: number, to: number): number[] =>
  Array.from({ length: ((to - from) * perSecond) / 1000 }, (_, index) => from + (index * 1000) / perSecond);

test.each([
  ['at once', calls(100, 0, 20_000), 0],
  ['after an outage', calls(100, 5000, 20_000), 4900],
  [
    'after a burst that no steady throughput follows',
    [...calls(300, 1000, 2000), ...calls(50, 2000, 20_000)],
    undefined,
  ],
  ['only after a pause behind a burst', [...calls(300, 1000, 2000), ...calls(100, 8000, 20_000)], 7900],
])('throughput is back %s', (_when, successes, expected) => {
  expect(recoveryMs(successes, { baseline: 100, healedAt: 0, now: 20_000 })).toBe(expected);
});

test('the share of first tries counts the calls that began during the fault', () => {
  const tries = [false, true, true, false, true, false].map((isSuccess, index) => ({ at: index * 1000, isSuccess }));
  expect(firstTryShare(tries, 1000, 5000)).toBe(0.75);
  expect(firstTryShare(tries, 9000, 10_000)).toBe(1);
});
