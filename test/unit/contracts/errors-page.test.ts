import { readFileSync } from 'node:fs';
import path from 'node:path';
import { exampleOf } from '../../../src/contracts/problem';
import { FIELD_ERROR_CODES, PROBLEM_CODES, PROBLEMS } from '../../../src/contracts/problem-table';
import { PACKAGE_ROOT } from '../../../src/package';

const page = readFileSync(path.join(PACKAGE_ROOT, 'docs/sellers/errors.md'), 'utf8');
const sections = [...page.matchAll(/^### `(\w+)`\n\*\*(\d+): (.+?)\.\*\* (.{20,})$/gm)];

test('docs/sellers/errors.md explains each code, and mentions Retry-After if its response has the header', () => {
  const explained = sections.map(([, code, status, title, text = '']) => ({
    ...{ code, status: Number(status), title },
    hasRetryAfter: text.includes('`Retry-After`'),
  }));
  expect(explained).toEqual(
    PROBLEM_CODES.map((code) => {
      const { status, title, headers = [] } = PROBLEMS[code];
      return { code, status, title, hasRetryAfter: headers.includes('Retry-After') };
    }),
  );
});

test('docs/sellers/errors.md explains each code of a field', () => {
  const ofProblems = PROBLEM_CODES.filter((code) => PROBLEMS[code].errors?.some((error) => error.code === code));
  const rows = [...page.matchAll(/^\| `(\w+)` \| .{20,} \|$/gm)].map(([, code]) => code);
  expect(rows).toEqual([...FIELD_ERROR_CODES, ...ofProblems]);
});

test('the example of docs/sellers/errors.md is that of the API', () => {
  const example = JSON.parse(/```json\n(.*?)```/s.exec(page)![1]!) as { instance: string; request_id: string };
  expect(example).toEqual(exampleOf('invalid_request').toBody(example.instance, example.request_id));
});
