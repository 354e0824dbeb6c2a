import { formatPence, penceToPounds, poundsToPence } from '../../../src/domain/money';

describe('poundsToPence', () => {
  test.each([
    [0.01, 1],
    [0.1 + 0.2, 30],
    [3 * 19.99, 5997],
    [99_999_999_999.99, 9_999_999_999_999],
    [-1.5, -150],
    [0, 0],
  ])('converts %d pounds to %d pence', (pounds, pence) => {
    expect(poundsToPence(pounds)).toBe(pence);
  });

  test('converts -0 to zero', () => {
    expect(poundsToPence(-0)).toBeCloseTo(0);
  });

  test.each([0.001, 9_999_999.999, 99_999_999_999.995, JSON.parse('1e400') as number, NaN, 2 ** 53])(
    'returns undefined for %d',
    (pounds) => {
      expect(poundsToPence(pounds)).toBeUndefined();
    },
  );

  test('tolerates the rounding errors of a thousand additions', () => {
    const wrong: string[] = [];
    for (const price of [0.01, 0.07, 0.1, 1.1, 19.99, 999.95, 9_999.99, 999_999.33, 10_000_000.01]) {
      let sum = 0;
      for (let count = 1; count <= 1000; count++) {
        sum += price;
        if (poundsToPence(sum) !== Math.round(price * 100) * count) wrong.push(`${count} x ${price}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('is the inverse of penceToPounds for every amount up to 10,000 pounds', () => {
    const lost: number[] = [];
    for (let pence = 0; pence <= 1_000_000; pence++) {
      if (poundsToPence(penceToPounds(pence)) !== pence) lost.push(pence);
    }
    expect(lost).toEqual([]);
  });
});

test('an amount prints as JSON with at most two decimals', () => {
  const printed = [1, 10, 29, 110, 123_450, 9_999_999_999_999].map((pence) => JSON.stringify(penceToPounds(pence)));
  expect(printed).toEqual(['0.01', '0.1', '0.29', '1.1', '1234.5', '99999999999.99']);
});

test.each([
  [1, '£0.01'],
  [100, '£1.00'],
  [100_000, '£1,000.00'],
  [100_000_000, '£1,000,000.00'],
  [99_999_999_999_999, '£999,999,999,999.99'],
])('%d pence are formatted as %s', (pence, text) => {
  expect(formatPence(pence)).toBe(text);
});
