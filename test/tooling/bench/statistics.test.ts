import { median, medianInterval, percentile, ratioInterval, seededRandom, shuffled } from '../../bench/statistics';

test('the median of an even number of values is the mean of the middle two', () => {
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([9, 1, 5])).toBe(5);
  expect(() => median([])).toThrow(RangeError);
});

test('a percentile is the nearest rank', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect([0, 0.5, 0.99, 1].map((part) => percentile(values, part))).toEqual([1, 50, 99, 100]);
  expect(() => percentile([], 0.5)).toThrow(RangeError);
});

test('a ratio is taken inside each block, so that a slow block does not count', () => {
  const { median: ratio, low, high } = ratioInterval([10, 100, 12, 11, 9], [5, 50, 6, 5.5, 4.5]);
  expect([ratio, low, high]).toEqual([2, 2, 2]);
});

test('a bootstrap interval contains the median, and covers the true median of random samples in about 95 % of runs', () => {
  const random = seededRandom(7);
  const runs = Array.from({ length: 100 }, () =>
    medianInterval(
      Array.from({ length: 15 }, () => random()),
      random,
    ),
  );
  expect(runs.every(({ low, median: middle, high }) => low <= middle && middle <= high)).toBe(true);
  const covered = runs.filter(({ low, high }) => low <= 0.5 && 0.5 <= high).length / runs.length;
  expect(covered).toBeGreaterThan(0.88);
  expect(covered).toBeLessThan(1);
});

test('the same seed gives the same order, and every order keeps all items', () => {
  const items = ['a', 'b', 'c', 'd', 'e', 'f'];
  const orders = Array.from({ length: 50 }, (_, seed) => shuffled(items, seededRandom(seed)).join(''));
  expect(orders[3]).toBe(shuffled(items, seededRandom(3)).join(''));
  expect(new Set(orders).size).toBeGreaterThan(40);
  expect(orders.every((order) => items.every((item) => order.includes(item)) && order.length === items.length)).toBe(
    true,
  );
});
