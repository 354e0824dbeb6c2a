import { parseRetryAfter } from '../../../src/webhooks/send';

const now = Date.parse('2026-03-01T12:00:00Z');
const day = 24 * 60 * 60 * 1000;

describe('parseRetryAfter', () => {
  test.each<[string, string | string[] | undefined, number | null]>([
    ['seconds', '120', 120_000],
    ['no wait', '0', 0],
    ['seconds with surrounding spaces', ' 7 ', 7_000],
    ['more seconds than a number holds', '9'.repeat(400), day],
    ['a date', 'Sun, 01 Mar 2026 12:02:00 GMT', 120_000],
    ['a past date', 'Sun, 01 Mar 2026 11:00:00 GMT', 0],
    ['a date years ahead', 'Fri, 01 Mar 2030 12:00:00 GMT', day],
    ['a date in RFC 850 format', 'Sunday, 01-Mar-26 12:00:10 GMT', 10_000],
    ['two headers', ['5', '60'], 5_000],
    ['no header', undefined, null],
    ['an empty header', '', null],
    ['a negative number', '-5', null],
    ['an ISO date', '2026-03-01T12:02:00Z', null],
    ['a date that does not exist', 'Sun, 99 Mar 2026 12:02:00 GMT', null],
    ['words', 'soon', null],
  ])('returns the right wait for %s', (_what, value, expected) => {
    expect(parseRetryAfter(value, now)).toBe(expected);
  });
});
