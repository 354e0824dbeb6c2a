import { totalPence } from '../../../../src/checkout/domain/application';
import { monthsAfter } from '../../../../src/checkout/domain/calendar';
import { monthlyInstalments } from '../../../../src/checkout/lender/instalments';

const FREE = { representativeInterest: 0, promotions: [] };
const promotion = (interestFreeDays: number, validUntil: string) => ({ name: 'Offer', interestFreeDays, validUntil });

test('an amount is split into equal instalments, and the first one includes the pence that do not divide', () => {
  expect(monthlyInstalments(10_000, 3, '2027-01-15', FREE)).toEqual({
    annualInterest: 0,
    instalments: [
      { dueInMonths: 1, amountPence: 3334 },
      { dueInMonths: 2, amountPence: 3333 },
      { dueInMonths: 3, amountPence: 3333 },
    ],
  });
});

test.each([1, 2, 3, 99, 100, 123_456, 1_000_000_000])(
  'the instalments of %d pence add up to the amount, and interest adds to the last one only',
  (pence) => {
    for (const representativeInterest of [0, 0.1, 12.9, 49.99]) {
      const pricing = { representativeInterest, promotions: [] };
      const { instalments } = monthlyInstalments(pence, 3, '2027-01-31', pricing);
      const withoutInterest = monthlyInstalments(pence, 3, '2027-01-31', FREE);
      expect(totalPence(withoutInterest)).toBe(pence);
      expect(instalments.slice(0, -1)).toEqual(withoutInterest.instalments.slice(0, -1));
      expect(instalments.every(({ amountPence }) => Number.isSafeInteger(amountPence) && amountPence > 0)).toBe(true);
    }
  },
);

test('every instalment is at least one penny, so 2 pence are paid in two instalments', () => {
  const parts = (pence: number) => monthlyInstalments(pence, 3, '2027-01-15', FREE).instalments;
  expect(parts(1)).toEqual([{ dueInMonths: 1, amountPence: 1 }]);
  expect(parts(2).map(({ amountPence }) => amountPence)).toEqual([1, 1]);
});

test('a due date that the month does not have moves to the last day of the month', () => {
  const dues = (start: string) => [1, 2, 3].map((months) => monthsAfter(start, months));
  expect(dues('2026-11-30')).toEqual(['2026-12-30', '2027-01-30', '2027-02-28']);
  expect(dues('2027-12-31')).toEqual(['2028-01-31', '2028-02-29', '2028-03-31']);
});

test('interest accrues daily on the outstanding amount and is added to the last instalment', () => {
  // 300.00 for 31 days, 200.00 for 28 and 100.00 for 31, at 36.5 %: 9.30 + 5.60 + 3.10.
  const pricing = { representativeInterest: 36.5, promotions: [] };
  const { instalments } = monthlyInstalments(30_000, 3, '2027-01-15', pricing);
  expect(instalments.map(({ amountPence }) => amountPence)).toEqual([10_000, 10_000, 11_800]);
});

test('the best promotion that has not ended makes its days interest-free', () => {
  const interest = (...promotions: ReturnType<typeof promotion>[]) =>
    totalPence(monthlyInstalments(30_000, 3, '2027-01-15', { representativeInterest: 36.5, promotions })) - 30_000;
  expect(interest(promotion(31, '2027-01-15'))).toBe(870);
  expect(interest(promotion(31, '2027-01-14'))).toBe(1800);
  expect(interest(promotion(10, '2027-12-31'), promotion(59, '2027-12-31'))).toBe(310);
  expect(interest(promotion(365, '2027-12-31'))).toBe(0);
});
