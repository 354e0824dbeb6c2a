import { PROBLEM_CODES, PROBLEMS } from '../../../src/contracts/problem-table';
import { expectProblem } from '../../support/problems';
import { useStack } from '../../support/stack';
import { PROVOCATIONS } from './provoke-problems';

const stack = useStack();

/** Replaces the values that differ in each run. */
const normalize = (value: unknown): Record<string, unknown> =>
  JSON.parse(
    JSON.stringify(value)
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replace(/\d+ (requests|orders|s\b)/g, 'n $1'),
  );

test.each(PROBLEM_CODES)('the API returns %s as the OpenAPI document shows it', async (code) => {
  const response = await PROVOCATIONS[code](stack);
  const { status, title, detail, members, headers = [] } = PROBLEMS[code];
  const { errors = [{ code, detail }] } = PROBLEMS[code];
  const problem = expectProblem(response, status, code);
  const ofRequest = { type: '', instance: '', request_id: '' };
  expect(normalize({ ...problem, ...ofRequest })).toEqual(
    normalize({ ...ofRequest, title, status, detail, code, errors, ...members }),
  );
  const specific = ['Retry-After', 'WWW-Authenticate', 'Allow', 'ETag'];
  expect(specific.filter((name) => response.headers.has(name))).toEqual(
    specific.filter((name) => (headers as string[]).includes(name)),
  );
});
