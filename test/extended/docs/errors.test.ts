import { readFileSync } from 'node:fs';
import path from 'node:path';
import { FIELD_ERROR_CODES, PROBLEMS, type ProblemCode } from '../../../src/contracts/problem-schema';
import { PACKAGE_ROOT } from '../../../src/package';
import { expectProblem } from '../../support/problems';
import { useStack } from '../../support/stack';
import { codeBlocks } from './markdown-blocks';
import { PROVOCATIONS } from './provoke-problems';

const stack = useStack();

const page = readFileSync(path.join(PACKAGE_ROOT, 'docs/errors.md'), 'utf8');
const [wholeExample = ''] = codeBlocks('docs/errors.md').map(({ code }) => code);
/** The section of each code: its status, its text, and an example with the fields that are specific to it. */
const sections = new Map(
  [...page.matchAll(/^### `(\w+)`, (\d{3})\n(.*?)^```json\n(.*?)^```$/gms)].map(
    ([, code = '', status = '', text = '', example = '']) => [code, { status: Number(status), text, example }],
  ),
);

/** Parses JSON and replaces the values that differ in each run. */
const normalize = (json: string): Record<string, unknown> =>
  JSON.parse(
    json
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replace(/\d+ (requests|s\b)/g, 'n $1'),
  );

test('docs/errors.md has exactly one section for each error code, in the order of their statuses', () => {
  expect([...sections.keys()]).toEqual(Object.keys(PROBLEMS));
  const statuses = [...sections.values()].map(({ status }) => status);
  expect(statuses).toEqual(statuses.toSorted((a, b) => a - b));
});

const [, fieldTable = ''] = page.split('\n## Field error codes\n');
const fieldCodes = [...fieldTable.matchAll(/^\| `(\w+)` \| \S.* \|$/gm)].map(([, code]) => code);

test('docs/errors.md has one table row for each field error code, and one for each problem with a field', () => {
  const problems = fieldCodes.slice(FIELD_ERROR_CODES.length);
  expect(fieldCodes).toEqual([...FIELD_ERROR_CODES, ...new Set(problems)]);
  expect(Object.keys(PROBLEMS)).toEqual(expect.arrayContaining(problems));
});

test.each(Object.keys(PROBLEMS) as ProblemCode[])('the API returns %s as docs/errors.md shows it', async (code) => {
  const response = await PROVOCATIONS[code](stack);
  const problem = expectProblem(response, PROBLEMS[code].status, code);
  const { order_id, order_url, order_status, order_amount, errors } = problem;
  for (const error of errors) if (error.pointer !== undefined) expect(fieldCodes).toContain(error.code);
  const { status, text, example } = sections.get(code)!;
  expect(status).toBe(response.status);
  const documented = normalize(example);
  expect(normalize(response.text)).toMatchObject(documented);
  expect(Object.keys(documented)).toEqual(expect.arrayContaining(['status', 'code', 'detail']));
  // The example shows the fields that are specific to the code.
  for (const [name, value] of Object.entries({ order_id, order_url, order_status, order_amount })) {
    expect(name in documented).toBe(value !== undefined);
  }
  // The page mentions Retry-After exactly if the response has it.
  expect(response.headers.has('Retry-After')).toBe(text.includes('`Retry-After`'));
  if (code === 'invalid_request') expect(normalize(wholeExample)).toEqual(normalize(response.text));
});
