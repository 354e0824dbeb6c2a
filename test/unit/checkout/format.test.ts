import {
  describeCost,
  describePayments,
  describePromotion,
  formatDate,
  formatDateTime,
  formatDeadline,
} from '../../../src/checkout/pages/format';
import { monthlyInstalments } from '../../../src/checkout/lender/instalments';

test('dates and times are British and use London time', () => {
  expect(formatDate('2027-01-31')).toBe('31 January 2027');
  expect(formatDateTime('2027-07-01T22:30:00Z')).toBe('1 July 2027 at 23:30 BST');
});

test('the hour that the end of summer time repeats is shown with its time zone', () => {
  expect(formatDateTime('2026-10-25T00:30:00Z')).toBe('25 October 2026 at 01:30 BST');
  expect(formatDeadline('2026-10-25T01:30:00Z', new Date('2026-10-01'))).toBe('25 October, 01:30 GMT');
});

test('a deadline is in London time, with the year unless it is the current one in London', () => {
  const deadline = (at: string, now: string) => formatDeadline(at, new Date(now));
  expect(deadline('2026-11-21T22:57:00Z', '2026-11-20T12:00:00Z')).toBe('21 November, 22:57 GMT');
  expect(deadline('2027-07-01T22:57:00Z', '2027-01-01T00:00:00Z')).toBe('1 July, 23:57 BST');
  expect(deadline('2027-11-28T12:00:00Z', '2026-11-28T12:00:00Z')).toBe('28 November 2027, 12:00 GMT');
  expect(deadline('2027-01-01T00:00:00Z', '2026-12-31T23:00:00Z')).toBe('1 January 2027, 00:00 GMT');
  expect(formatDeadline(new Date(Date.now() + 366 * 86_400_000))).toMatch(/ \d{4}, /);
});

const offer = (pence: number, representativeInterest = 0, count = 3, interestFreeDays = 0) =>
  monthlyInstalments(pence, count, '2026-11-21', {
    representativeInterest,
    promotions: interestFreeDays === 0 ? [] : [{ name: 'Spring offer', interestFreeDays, validUntil: '2099-01-31' }],
  });

test('repayments are described in one line, whichever of them differs', () => {
  expect(describePayments(offer(123_450))).toBe('3 monthly payments of £411.50');
  expect(describePayments(offer(10_000))).toBe('3 monthly payments: 2 of £33.33, then £33.34');
  expect(describePayments(offer(123_450, 12.9))).toBe('3 monthly payments: 2 of £420.40, then £420.41');
  const rising = {
    instalments: [100, 200, 300].map((amountPence, index) => ({ dueInMonths: index + 1, amountPence })),
  };
  expect(describePayments(rising)).toBe('3 monthly payments, from £1.00 to £3.00');
  expect(describePayments(offer(1))).toBe('1 monthly payment of £0.01');
});

test('the cost is described in one line: the interest and the first due date', () => {
  const withoutRate = { instalments: [{ dueInMonths: 1, amountPence: 12_000 }] };
  expect(describeCost(offer(123_450), 123_450, '2026-11-21')).toBe('0% interest, first due 21 December');
  expect(describeCost(offer(123_450, 12.9), 123_450, '2026-11-21')).toBe(
    '£26.71 interest (12.9% a year), first due 21 December',
  );
  expect(describeCost(offer(123_450), 123_450, '2026-12-05')).toBe('0% interest, first due 5 January 2027');
  expect(describeCost(withoutRate, 10_000, '2026-11-21')).toBe('£20.00 interest, first due 21 December');
});

test('only a promotion that reduces the interest is described, with the date at which it ends', () => {
  const described = (of: ReturnType<typeof offer>) => describePromotion(of, '2026-11-21');
  expect(described(offer(123_450, 12.9, 3, 30))).toBe('Spring offer: no interest until 21 December');
  expect(described(offer(123_450, 12.9, 3, 90))).toBe('Spring offer: no interest until 19 February 2027');
  expect(described(offer(123_450, 0, 3, 30))).toBeUndefined();
  expect(described(offer(123_450, 12.9))).toBeUndefined();
});
