/** How far a sum of floats may stray from whole pence, as a share of the amount: a thousand additions stay below it. */
const FLOAT_ERROR = 1e-12;
/** And in pounds: a tenth of a penny is never an error of floats, however large the amount. */
const LARGEST_ERROR = 0.0005;

/**
 * Pounds as shops send them to whole pence: 0.1 + 0.2 is 30 pence.
 * @returns undefined for what is no amount in whole pence (0.001, NaN, Infinity), or not exact as an integer.
 */
export function poundsToPence(pounds: number): number | undefined {
  const pence = Math.round(pounds * 100);
  if (!Number.isSafeInteger(pence)) return undefined;
  const error = Math.min(FLOAT_ERROR * Math.max(1, Math.abs(pounds)), LARGEST_ERROR);
  return Math.abs(pounds - pence / 100) <= error ? pence : undefined;
}

/** The nearest JSON number; it prints with at most two decimals. */
export function penceToPounds(pence: number): number {
  return pence / 100;
}

/** For people: `£1,234.50`. Written out by hand, since workflow code may not depend on the machine's locale data. */
export function formatPence(pence: number): string {
  const [pounds = '0', decimals = '00'] = (pence / 100).toFixed(2).split('.');
  return `£${pounds.replace(/\B(?=(\d{3})+$)/g, ',')}.${decimals}`;
}
