import { annualPercentageRate, costBox } from '../../../src/checkout/pages/offer';
import { ORDER } from '../../support/domain-orders';

test.each([
  [undefined, '<dt>Interest</dt>'],
  [7.5, '<dt>Interest at 7.5% a year</dt>'],
])('an offer at the rate %p shows %s, whatever the representative interest of the account', (annualInterest, shown) => {
  const order = { ...ORDER, pricing: { representativeInterest: 12.9, promotions: [] } };
  const instalments = [{ dueInMonths: 1, amountPence: order.amountPence + 500 }];
  const offer = { instalments, ...(annualInterest !== undefined && { annualInterest }) };
  expect(costBox(order, offer, '2027-01-15', 'What you agree to').text).toContain(shown);
});

const monthly = (...amounts: number[]) =>
  amounts.map((amountPence, index) => ({ dueInMonths: index + 1, amountPence }));

test('the APR of repayments without interest is 0', () => {
  expect(annualPercentageRate(10_000, monthly(3334, 3333, 3333))).toBe(0);
});

test('one repayment after a year has the APR of its interest', () => {
  expect(annualPercentageRate(10_000, [{ dueInMonths: 12, amountPence: 11_290 }])).toBe(12.9);
});

test('1% a month is 12.7% a year, and its repayments have that APR', () => {
  // 100.00 over 12 months at 1% a month: 8.884879 a month.
  expect(annualPercentageRate(10_000_000, monthly(...Array<number>(12).fill(888_488)))).toBe(12.7);
});

test('the APR of a very expensive loan is the true one', () => {
  // 10.00 with a fee of 5.00 after a month: 1.5 ** 12 - 1.
  expect(annualPercentageRate(1000, monthly(1500))).toBe(12_874.6);
  expect(annualPercentageRate(100, monthly(1_000_000)) / 1e50).toBeCloseTo(1, 10);
  const order = { ...ORDER, amountPence: 1000 };
  expect(costBox(order, { instalments: monthly(1500) }, '2027-01-15', 'What you agree to').text).toContain(
    '<dd>12,874.6%</dd>',
  );
});
