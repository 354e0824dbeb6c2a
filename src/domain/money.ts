/** Amounts are below this. It keeps each of them an exact number of pence. */
export const MAX_POUNDS = 1e12;

/** The largest relative rounding error of a sum of floats: a thousand additions stay below it. */
const FLOAT_ERROR = 1e-12;
/** The largest absolute error, in pounds: a tenth of a penny is never a rounding error, however large the amount. */
const LARGEST_ERROR = 0.0005;

/**
 * Converts pounds to whole pence and tolerates the rounding errors of floats: 0.1 + 0.2 is 30 pence.
 * @returns undefined if the amount is not in whole pence (0.001, NaN, Infinity) or not exact as an integer
 */
export function poundsToPence(pounds: number): number | undefined {
  const pence = Math.round(pounds * 100);
  if (!Number.isSafeInteger(pence)) return undefined;
  const error = Math.min(FLOAT_ERROR * Math.max(1, Math.abs(pounds)), LARGEST_ERROR);
  return Math.abs(pounds - pence / 100) <= error ? pence : undefined;
}

/** Converts pence to the nearest JSON number, which prints with at most two decimals. */
export function penceToPounds(pence: number): number {
  return pence / 100;
}

/** Formats pence as `£1,234.50`, without `Intl`: workflow code must not depend on the machine's locale data. */
export function formatPence(pence: number): string {
  const [pounds = '0', decimals = '00'] = (pence / 100).toFixed(2).split('.');
  return `£${pounds.replace(/\B(?=(\d{3})+$)/g, ',')}.${decimals}`;
}
