import { variantOf } from '../../chaos/cell';
import { CELLS } from '../../chaos/cells';

test.each(CELLS.filter(({ variants }) => variants))('ten seeds reach every variant of $name', (cell) => {
  const reached = Array.from({ length: 10 }, (_, index) => variantOf(cell, index + 1));
  expect(new Set(reached)).toEqual(new Set(cell.variants));
});

test('every cell has a name of its own', () => {
  expect(new Set(CELLS.map(({ name }) => name)).size).toBe(CELLS.length);
});
