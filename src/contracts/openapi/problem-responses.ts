import { z } from 'zod';
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { type ProblemBody, PROBLEM_TYPE, exampleOf, problemSchema } from '../problem';
import { PROBLEMS, type ProblemCode, problemEntry } from '../problem-table';
import { STANDARD_HEADERS, pick, sometimes } from './headers';

/** The responses for these errors, by status. Each lists its codes, with an example of each. */
export function problemResponses(codes: readonly ProblemCode[]): ZodOpenApiResponsesObject {
  const statuses = new Set(codes.map((code) => PROBLEMS[code].status));
  return Object.fromEntries(
    [...statuses].map((status) => [
      String(status),
      problemResponse([...new Set(codes)].filter((code) => PROBLEMS[code].status === status).sort()),
    ]),
  );
}

const components = new Map<ProblemCode, ZodOpenApiResponseObject>();

/** A response with one code is a component. One with several codes belongs to its operation: it has no good name. */
function problemResponse(codes: readonly ProblemCode[]): ZodOpenApiResponseObject {
  const [only] = codes;
  if (only === undefined || codes.length > 1) return createResponse(codes);
  const response = components.get(only) ?? { id: toPascalCase(only), ...createResponse(codes) };
  components.set(only, response);
  return response;
}

function createResponse(codes: readonly ProblemCode[]): ZodOpenApiResponseObject {
  const examples = codes.map((code) => [code, { summary: PROBLEMS[code].title, value: exampleBody(code) }] as const);
  return {
    description: codes.map((code) => `[\`${code}\`](/docs/errors/#${code}): ${PROBLEMS[code].title}`).join('. '),
    headers: z.object(headersOf(codes)),
    content: { [PROBLEM_TYPE]: { schema: problemSchema, examples: Object.fromEntries(examples) } },
  };
}

/** A header that only some of the codes have is optional. */
function headersOf(codes: readonly ProblemCode[]): Record<string, z.ZodType> {
  const each = codes.map((code): Record<string, z.ZodType> => ({
    // Comes before the count.
    ...(code === 'headers_too_large' ? pick('X-Request-Id', 'Cache-Control') : STANDARD_HEADERS),
    ...pick(...(problemEntry(code).headers ?? [])),
  }));
  return Object.fromEntries(
    Object.entries(Object.assign({}, ...each) as Record<string, z.ZodType>).map(([name, header]) => [
      name,
      each.every((headers) => name in headers) ? header : sometimes(header),
    ]),
  );
}

const exampleBody = (code: ProblemCode): ProblemBody =>
  exampleOf(code).toBody(
    '/api/lending/edge/ecommerce/order/3f0c8a52-6c1b-4d0e-9a57-0b6f2f1c7d34/',
    '0d2c9c6e-7e7b-4a53-9f0b-2f1f3f6f6c11',
  );

function toPascalCase(code: string): string {
  return code.replace(/(?:^|_)(\w)/g, (_match, letter: string) => letter.toUpperCase());
}

/** Responses to requests that cannot be read as HTTP, or have too many headers. They come before everything else. */
export const UNREADABLE: ZodOpenApiResponsesObject = {
  '400': { id: 'InvalidHttp', description: 'The request is not valid HTTP. The response has no body.' },
  '408': { id: 'RequestTimeout', description: 'The request did not arrive in time. The response has no body.' },
  ...problemResponses(['headers_too_large']),
};
