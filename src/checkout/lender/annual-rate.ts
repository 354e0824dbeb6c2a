import type { Instalment } from '../domain/application';

const MAX_PERCENT = 10_000;
const STEPS = 60;

/**
 * The annual percentage rate (APR) of monthly repayments, in percent with one decimal, as the FCA's Handbook defines it
 * (CONC App 1.2): the yearly rate at which all repayments together are worth the amount today.
 */
export function annualPercentageRate(amountPence: number, instalments: readonly Instalment[]): number {
  const presentValue = (percent: number): number =>
    instalments.reduce(
      (sum, { dueInMonths, amountPence: part }) => sum + part / (1 + percent / 100) ** (dueInMonths / 12),
      0,
    );
  let [low, high] = [0, MAX_PERCENT];
  if (presentValue(low) <= amountPence) return 0;
  for (let step = 0; step < STEPS; step++) {
    const middle = (low + high) / 2;
    if (presentValue(middle) > amountPence) low = middle;
    else high = middle;
  }
  return Math.round(high * 10) / 10;
}
