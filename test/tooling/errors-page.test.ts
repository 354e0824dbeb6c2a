import { readFileSync } from 'node:fs';
import path from 'node:path';
import { PROBLEM_CODES, problemEntry } from '../../src/contracts/problem-table';
import { PACKAGE_ROOT } from '../../src/package';
import { renderErrorsPage } from '../../tools/docs/errors-page';

test('docs/errors.md is up to date (`npm run docs:errors` writes it)', () => {
  expect(readFileSync(path.join(PACKAGE_ROOT, 'docs/errors.md'), 'utf8')).toBe(renderErrorsPage());
});

test('the errors are in the order of their statuses, and each has a cause and a cure of at least one sentence', () => {
  const entries = PROBLEM_CODES.map(problemEntry);
  const statuses = entries.map(({ status }) => status);
  expect(statuses).toEqual(statuses.toSorted((a, b) => a - b));
  for (const { cause, cure } of entries) for (const text of [cause, cure]) expect(text).toMatch(/^[A-Z`].*\.$/);
});
