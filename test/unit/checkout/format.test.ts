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
  expect(formatDeadline('2026-10-25T01:30:00Z')).toBe('25 October, 01:30 GMT');
});

test('a deadline is in London time, without the year', () => {
  expect(formatDeadline('2026-11-21T22:57:00Z')).toBe('21 November, 22:57 GMT');
  expect(formatDeadline('2027-07-01T22:57:00Z')).toBe('1 July, 23:57 BST');
});

const offer = (pence: number, representativeInterest = 0, count = 3, interestFreeDays = 0) =>
  monthlyInstalments(pence, count, '2026-11-21', {
    representativeInterest,
    promotions: interestFreeDays === 0 ? [] : [{ name: 'Spring offer', interestFreeDays, validUntil: '2099-01-31' }],
  });

test('repayments are described in one line, whichever of them differs', () => {
  expect(describePayments(offer(123_450))).toBe('3 monthly payments of £411.50');
  expect(describePayments(offer(10_000))).toBe('3 monthly payments: £33.34, then 2 of £33.33');
  expect(describePayments(offer(123_450, 12.9))).toBe('3 monthly payments: 2 of £411.50, then £438.11');
  expect(describePayments(offer(10_000, 12.9))).toBe('3 monthly payments, from £33.33 to £35.49');
  expect(describePayments(offer(1))).toBe('1 monthly payment of £0.01');
});

test('the cost is described in one line: the interest and the first due date', () => {
  const withoutRate = { instalments: [{ dueInMonths: 1, amountPence: 12_000 }] };
  expect(describeCost(offer(123_450), 123_450, '2026-11-21')).toBe('0% interest, first due 21 December');
  expect(describeCost(offer(123_450, 12.9), 123_450, '2026-11-21')).toBe(
    '£26.61 interest (12.9% a year), first due 21 December',
  );
  expect(describeCost(withoutRate, 10_000, '2026-11-21')).toBe('£20.00 interest, first due 21 December');
});

test('only a promotion that reduces the interest is described', () => {
  expect(describePromotion(offer(123_450, 12.9, 3, 30))).toBe('Spring offer: no interest for the first 30 days');
  expect(describePromotion(offer(123_450, 12.9, 3, 1))).toBe('Spring offer: no interest for the first day');
  expect(describePromotion(offer(123_450, 0, 3, 30))).toBeUndefined();
  expect(describePromotion(offer(123_450, 12.9))).toBeUndefined();
});
