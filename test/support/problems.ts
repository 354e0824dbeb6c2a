import { type ProblemBody, problemSchema } from '../../src/contracts/problem';
import type { ApiResponse } from './api';

const strict = problemSchema.strict();
const INTERNALS =
  /\b(select|insert|update) .*\b(from|into|set)\b|node_modules|\.[jt]s:\d+|at \w+ \(|(?:sk|ck)_(?:test_)?(?!test_)[\w-]{8}|whsec_/i;

/** Checks everything that all error responses have in common, and returns the problem. */
export function expectProblem(response: ApiResponse, status: number, code: string): ProblemBody {
  const { headers, text } = response;
  expect(`${response.status} ${text}`).toMatch(new RegExp(`^${status} .*"code":"${code}"`, 's'));
  expect(headers.get('Content-Type')).toContain('application/problem+json');
  const { data, error } = strict.safeParse(response.body);
  if (error) throw error;
  expect(data).toMatchObject({ status, code, request_id: headers.get('X-Request-Id') });
  expect(headers.get('Cache-Control')).toBe('no-store');
  expect(text).not.toMatch(INTERNALS);
  return data;
}

/** Formats each field error of a problem as `pointer code`. */
export function pointers({ errors }: ProblemBody): string[] {
  return errors.map(({ pointer, code }) => `${pointer ?? '-'} ${code}`);
}
