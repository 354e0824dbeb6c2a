import { totalPence } from '../../../../src/checkout/domain/application';
import { monthsAfter } from '../../../../src/checkout/domain/calendar';
import { monthlyInstalments } from '../../../../src/checkout/lender/instalments';

const FREE = { representativeInterest: 0, promotions: [] };
const promotion = (interestFreeDays: number, validUntil: string) => ({ name: 'Offer', interestFreeDays, validUntil });

test('an amount is split into equal instalments, and the last one includes the pence that do not divide', () => {
  expect(monthlyInstalments(10_000, 3, '2027-01-15', FREE)).toEqual({
    annualInterest: 0,
    instalments: [
      { dueInMonths: 1, amountPence: 3333 },
      { dueInMonths: 2, amountPence: 3333 },
      { dueInMonths: 3, amountPence: 3334 },
    ],
  });
});

test.each([100, 12_345, 1_000_000, 1_000_000_000])(
  'with interest too, the instalments of %d pence are equal, except for the pence of rounding in the last one',
  (pence) => {
    for (const representativeInterest of [0, 0.1, 9.9, 12.9, 49.99, 100]) {
      for (const promotions of [[], [promotion(30, '2099-01-31')], [promotion(90, '2099-01-31')]]) {
        for (const count of [1, 2, 3, 12]) {
          const { instalments } = monthlyInstalments(pence, count, '2027-01-31', {
            representativeInterest,
            promotions,
          });
          const amounts = instalments.map(({ amountPence }) => amountPence);
          const [equal, last] = [amounts[0]!, amounts.at(-1)!];
          expect(amounts.every((amount) => Number.isSafeInteger(amount) && amount > 0)).toBe(true);
          expect(new Set(amounts.slice(0, -1)).size).toBeLessThanOrEqual(1);
          expect(last).toBeGreaterThanOrEqual(equal);
          // Each earlier instalment is less than a penny short, which grows with interest.
          expect(last - equal).toBeLessThanOrEqual(count * (1 + representativeInterest / 100));
          if (representativeInterest === 0) expect(amounts.reduce((sum, amount) => sum + amount, 0)).toBe(pence);
        }
      }
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

test('interest accrues daily on the outstanding amount', () => {
  // At 0.1 % a day: 300.00 and 9.30 for 31 days, minus 106.05, is 203.25. With 5.691 for 28 days, minus 106.05, it is
  // 102.891. With 3.19 for 31 days, it is 106.08: the last instalment.
  const pricing = { representativeInterest: 36.5, promotions: [] };
  const { instalments } = monthlyInstalments(30_000, 3, '2027-01-15', pricing);
  expect(instalments.map(({ amountPence }) => amountPence)).toEqual([10_605, 10_605, 10_608]);
});

test('the best promotion that has not ended makes its days interest-free', () => {
  const interest = (...promotions: ReturnType<typeof promotion>[]) =>
    totalPence(monthlyInstalments(30_000, 3, '2027-01-15', { representativeInterest: 36.5, promotions })) - 30_000;
  expect(interest(promotion(31, '2027-01-15'))).toBe(861);
  expect(interest(promotion(31, '2027-01-14'))).toBe(1818);
  expect(interest(promotion(10, '2027-12-31'), promotion(59, '2027-12-31'))).toBe(304);
  expect(interest(promotion(365, '2027-12-31'))).toBe(0);
});
