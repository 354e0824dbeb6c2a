import { formatDuration, startOfDay } from '../../../src/portal/format';

test.each([
  ['2026-11-28', {}, '2026-11-28T00:00:00.000Z'],
  ['2026-07-01', {}, '2026-06-30T23:00:00.000Z'],
  ['2026-10-31', { daysLater: 1 }, '2026-11-01T00:00:00.000Z'],
  // The days on which the clocks change.
  ['2026-03-29', {}, '2026-03-29T00:00:00.000Z'],
  ['2026-03-29', { daysLater: 1 }, '2026-03-29T23:00:00.000Z'],
  ['2026-10-25', {}, '2026-10-24T23:00:00.000Z'],
  ['2026-10-25', { daysLater: 1 }, '2026-10-26T00:00:00.000Z'],
])('the day %s in London, with %j, begins at %s', (date, options, expected) => {
  expect(startOfDay(date, options)).toBe(expected);
});

test.each(['2026-13-01', '2026-99-99', '0000-01-01', '0001-01-01', '9999-12-31'])(
  'a day that does not exist, or that Postgres could not read, has no beginning: %s',
  (date) => {
    expect([startOfDay(date), startOfDay(date, { daysLater: 1 })]).toEqual([undefined, undefined]);
  },
);

test.each([
  [29_000, '< 1 min'],
  [12 * 60_000, '12 min'],
  [3_600_000, '1 h 0 min'],
  [86_400_000 + 3_600_000, '1 day 1 h'],
  [50 * 3_600_000, '2 days 2 h'],
])('%d ms are shown as %s', (ms, expected) => {
  expect(formatDuration(ms)).toBe(expected);
});
