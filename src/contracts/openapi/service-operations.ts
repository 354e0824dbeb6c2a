import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi';
import { REQUEST_HEADERS, STANDARD_HEADERS, pick } from './headers';
import { UNREADABLE, problemResponses } from './problem-responses';

const healthSchema = z
  .object({
    status: z.string().meta({ description: '`ok`, or why the process cannot serve requests', examples: ['ok'] }),
    database: z
      .string()
      .optional()
      .meta({ description: 'Status of Postgres: `ok` or `unavailable`', examples: ['ok'] }),
    version: z.string().optional().meta({ description: 'Version of the service' }),
  })
  .meta({ id: 'Health' });
const openApiDocumentSchema = z
  .looseObject({ openapi: z.string().meta({ description: 'Version of OpenAPI', examples: ['3.1.0'] }) })
  .meta({ id: 'OpenApiDocument' });
const FILE_HEADERS = z.object({
  ...STANDARD_HEADERS,
  ...pick('ETag'),
  'Cache-Control': z.string().meta({ description: 'May be cached, but must be revalidated', examples: ['no-cache'] }),
  Vary: z.string().meta({ description: 'The response depends on this request header', examples: ['Accept-Encoding'] }),
});

function healthResponse(description: string, value: z.infer<typeof healthSchema>) {
  return {
    description,
    headers: z.object(pick('X-Request-Id', 'Cache-Control')),
    content: { 'application/json': { schema: healthSchema, example: value } },
  };
}

function publicOperation(
  operationId: string,
  summary: string,
  description: string,
  responses: ZodOpenApiOperationObject['responses'],
): ZodOpenApiOperationObject {
  const requestParams = { header: z.object(REQUEST_HEADERS) };
  return { operationId, tags: ['Service'], summary, description, security: [], requestParams, responses };
}

const document = publicOperation(
  'retrieveOpenApi',
  'Retrieve this document',
  'Returns the OpenAPI 3.1 document as JSON.',
  {
    '200': {
      description: 'The document',
      headers: FILE_HEADERS,
      content: { 'application/json': { schema: openApiDocumentSchema } },
    },
    '304': {
      description: 'Not changed since the version in If-None-Match',
      headers: FILE_HEADERS,
    },
    ...UNREADABLE,
    ...problemResponses(['rate_limited', 'internal_error']),
  },
);

const live = publicOperation('checkLiveness', 'Check liveness', 'Returns 200 while the process runs.', {
  '200': healthResponse('The process is running', { status: 'ok', version: '1.0.0' }),
  ...UNREADABLE,
});

const ready = publicOperation(
  'checkReadiness',
  'Check readiness',
  'Returns 200 if Postgres can write and the process is neither starting nor draining. Temporal is not checked.',
  {
    '200': healthResponse('The process can serve requests', { status: 'ok', database: 'ok' }),
    '503': healthResponse('The process cannot serve requests now', { status: 'not serving', database: 'ok' }),
    ...UNREADABLE,
  },
);

const serving = publicOperation(
  'checkServing',
  'Check serving',
  'Returns 200 while the process accepts requests, and 503 once it drains. Load balancers follow it. Postgres and ' +
    'Temporal are not checked.',
  {
    '200': healthResponse('The process accepts requests', { status: 'ok' }),
    '503': healthResponse('The process starts or drains', { status: 'not serving' }),
    ...UNREADABLE,
  },
);

export const SERVICE_PATHS: ZodOpenApiPathsObject = {
  '/openapi.json': { get: document },
  '/health/live': { get: live },
  '/health/ready': { get: ready },
  '/health/serving': { get: serving },
};
