import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi';
import type { ProblemCode } from '../problem-schema';
import { HEADERS, REQUEST_HEADERS, STANDARD_HEADERS } from './headers';
import { problemResponses } from './problem-responses';

const healthSchema = z.object({
  status: z.string().meta({ description: '`ok`, or what is the matter', examples: ['ok'] }),
  database: z.enum(['ok', 'unavailable']).optional(),
});
const FILE_HEADERS = z.object({
  ...STANDARD_HEADERS,
  'Cache-Control': HEADERS.publicCache,
  ETag: HEADERS.etag,
  Vary: z.string().meta({ description: 'It comes plain or gzipped', examples: ['Accept-Encoding'] }),
  'X-Content-Type-Options': z.literal('nosniff').meta({ description: 'The type is what it says' }),
});

/** Errors of what cannot be read at all. */
const UNREADABLE: readonly ProblemCode[] = ['bad_request', 'request_timeout', 'headers_too_large'];

function healthAnswer(description: string, value: z.infer<typeof healthSchema>) {
  return {
    description,
    headers: z.object({ 'X-Request-Id': HEADERS.requestId }),
    content: { 'application/json': { schema: healthSchema, example: value } },
  };
}

function open(
  operationId: string,
  summary: string,
  description: string,
  responses: ZodOpenApiOperationObject['responses'],
): ZodOpenApiOperationObject {
  const requestParams = { header: z.object(REQUEST_HEADERS) };
  return { operationId, tags: ['Service'], summary, description, security: [], requestParams, responses };
}

const document = open('retrieveOpenApi', 'Retrieve this document', 'OpenAPI 3.1, as JSON.', {
  '200': {
    description: 'The document',
    headers: FILE_HEADERS,
    content: { 'application/json': { schema: z.looseObject({ openapi: z.literal('3.1.0') }) } },
  },
  '304': {
    description: 'Not changed since the If-None-Match that was sent',
    headers: FILE_HEADERS,
  },
  ...problemResponses([...UNREADABLE, 'rate_limited', 'internal_error']),
});

const live = open('checkLiveness', 'Is the process there?', '200 while the process answers.', {
  '200': healthAnswer('It is', { status: 'ok' }),
  ...problemResponses(UNREADABLE),
});

const ready = open(
  'checkReadiness',
  'Can it serve?',
  '200 where Postgres answers and the process is neither starting nor draining. Temporal is no part of it.',
  {
    '200': healthAnswer('It can', { status: 'ok', database: 'ok' }),
    '503': healthAnswer('Not now', { status: 'not serving', database: 'ok' }),
    ...problemResponses(UNREADABLE),
  },
);

export const SERVICE_PATHS: ZodOpenApiPathsObject = {
  '/openapi.json': { get: document },
  '/health/live': { get: live },
  '/health/ready': { get: ready },
};
