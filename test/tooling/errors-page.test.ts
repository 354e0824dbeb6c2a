import { PROBLEM_CODES, problemEntry } from '../../src/contracts/problem-table';

test('the errors are in the order of their statuses, and each has a cause and a cure of at least one sentence', () => {
  const entries = PROBLEM_CODES.map(problemEntry);
  const statuses = entries.map(({ status }) => status);
  expect(statuses).toEqual(statuses.toSorted((a, b) => a - b));
  for (const { cause, cure } of entries) for (const text of [cause, cure]) expect(text).toMatch(/^[A-Z`].*\.$/);
});
