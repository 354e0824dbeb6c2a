import { type ProblemBody, problemSchema } from '../../src/contracts/problem-schema';
import type { Answer } from './api';

const strict = problemSchema.strict();
const INNARDS =
  /\b(select|insert|update) .*\b(from|into|set)\b|node_modules|\.[jt]s:\d+|at \w+ \(|sk_[\w-]{8}|ck_[\w-]{8}|whsec_/i;

/** The problem that an answer is, once its form was found right in every respect that all errors share. */
export function expectProblem(answer: Answer, status: number, code: string): ProblemBody {
  const { headers, text } = answer;
  expect(`${answer.status} ${text}`).toMatch(new RegExp(`^${status} .*"code":"${code}"`, 's'));
  expect(headers.get('Content-Type')).toContain('application/problem+json');
  const { data, error } = strict.safeParse(answer.body);
  if (error) throw error;
  expect(data).toMatchObject({ status, code, request_id: headers.get('X-Request-Id') });
  expect(headers.get('Cache-Control')).toBe('no-store');
  expect(text).not.toMatch(INNARDS);
  return data;
}

/** `pointer code` of each error of a problem. */
export function pointers({ errors }: ProblemBody): string[] {
  return errors.map(({ pointer, code }) => `${pointer ?? '-'} ${code}`);
}
