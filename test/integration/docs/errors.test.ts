import { readFileSync } from 'node:fs';
import path from 'node:path';
import { FIELD_ERROR_CODES, PROBLEMS, type ProblemCode } from '../../../src/contracts/problem-schema';
import { PACKAGE_ROOT } from '../../../tools/package-root';
import { expectProblem } from '../../support/problems';
import type { Stack } from '../../support/stack';
import { startStack } from '../../support/stack';
import { codeBlocks } from './code-blocks';
import { PROVOCATIONS } from './provoke-problems';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

const page = readFileSync(path.join(PACKAGE_ROOT, 'docs/errors.md'), 'utf8');
const [wholeExample = ''] = codeBlocks('docs/errors.md').map(({ code }) => code);
/** What the page says of each code: its status, a text, and an example of what is particular to it. */
const sections = new Map(
  [...page.matchAll(/^### `(\w+)`, (\d{3})\n(.*?)^```json\n(.*?)^```$/gms)].map(
    ([, code = '', status = '', text = '', example = '']) => [code, { status: Number(status), text, example }],
  ),
);

/** Without what is another each time. */
const lasting = (json: string): Record<string, unknown> =>
  JSON.parse(json.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>').replace(/\d+ (requests|s\b)/g, 'n $1'));

test('the page has a section for every code, and for no other, in the order of their statuses', () => {
  expect([...sections.keys()]).toEqual(Object.keys(PROBLEMS));
});

test('the page has a line for every code of a field, and for no other', () => {
  const [, table = ''] = page.split('\n## Field error codes\n');
  expect([...table.matchAll(/^\| `(\w+)` \| \S.* \|$/gm)].map(([, code]) => code)).toEqual([...FIELD_ERROR_CODES]);
});

test.each(Object.keys(PROBLEMS) as ProblemCode[])('%s is met over HTTP, as the page shows it', async (code) => {
  const answer = await PROVOCATIONS[code](stack);
  const { order_id, order_url, order_status, order_amount } = expectProblem(answer, PROBLEMS[code].status, code);
  const { status, text, example } = sections.get(code)!;
  expect(status).toBe(answer.status);
  const shown = lasting(example);
  expect(lasting(answer.text)).toMatchObject(shown);
  expect(Object.keys(shown)).toEqual(expect.arrayContaining(['status', 'code', 'detail']));
  // What is particular to the code is shown.
  for (const [name, value] of Object.entries({ order_id, order_url, order_status, order_amount })) {
    expect(name in shown).toBe(value !== undefined);
  }
  // Only what a later try may mend says when.
  expect(answer.headers.has('Retry-After')).toBe(text.includes('`Retry-After`'));
  if (code === 'invalid_request') expect(lasting(wholeExample)).toEqual(lasting(answer.text));
});
