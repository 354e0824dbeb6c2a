import { z } from 'zod';
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { Problem } from '../problem';
import {
  type FieldError,
  type ProblemBody,
  type ProblemCode,
  type ProblemMembers,
  PROBLEMS,
  PROBLEM_TYPE,
  problemSchema,
} from '../problem-schema';
import { HEADERS, STANDARD_HEADERS, sometimes } from './headers';

interface Example {
  detail: string;
  errors?: readonly FieldError[];
  members?: ProblemMembers;
}

const REFERENCE_TAKEN =
  'Another of your orders has this reference and is not UNSUCCESSFUL. Use that order, or cancel it first.';

/** An example for each error. */
const EXAMPLES: Record<ProblemCode, Example> = {
  malformed_json: { detail: 'The body is empty.' },
  bad_request: { detail: 'The request is not valid HTTP.' },
  invalid_idempotency_key: {
    detail: 'The Idempotency-Key must be 1 to 255 printable ASCII characters without spaces.',
  },
  unauthorized: {
    detail:
      'The key sk_rev… is unknown or revoked, or its account is disabled. Send "Authorization: Bearer <key>" with a valid seller key.',
  },
  sandbox_only: {
    detail: 'The order belongs to a live account. Only orders of a sandbox account can be simulated.',
  },
  not_found: { detail: 'The resource does not exist or belongs to another seller.' },
  method_not_allowed: { detail: 'This path supports DELETE, GET, HEAD.' },
  request_timeout: { detail: 'The request did not arrive in time. Nothing changed.' },
  duplicate_reference: {
    detail: REFERENCE_TAKEN,
    errors: [
      {
        code: 'duplicate_reference',
        detail: REFERENCE_TAKEN,
        pointer: '/data/reference',
      },
    ],
    members: {
      order_id: '3f0c8a52-6c1b-4d0e-9a57-0b6f2f1c7d34',
      order_url: 'https://checkout.example/pay/9b2e6f10-58a7-4c3d-8e21-7d4a1b9c0f65/',
      order_status: 'PENDING',
      order_amount: 1234.5,
    },
  },
  idempotency_key_in_progress: {
    detail: 'The first request with this Idempotency-Key is still running. Repeating the call is safe.',
  },
  order_not_cancellable: {
    detail: 'The order is SUCCESSFUL and cannot be cancelled.',
    members: { order_status: 'SUCCESSFUL' },
  },
  transition_not_allowed: {
    detail: 'completed is not allowed: the order is CREATED.',
    errors: [
      {
        code: 'transition_not_allowed',
        detail: 'Not allowed while the order is CREATED',
        pointer: '/data/event',
      },
    ],
    members: { order_status: 'CREATED' },
  },
  resend_in_progress: {
    detail: 'The previous resend of many webhooks is still in progress. It continues, and nothing else was requested.',
  },
  too_many_webhook_secrets: {
    detail:
      '5 webhook secrets are active, the maximum. The first one ends at 2026-11-22T09:00:00.000Z; rotate again then. ' +
      'To end all older secrets immediately instead, rotate without an overlap.',
  },
  precondition_failed: {
    detail: 'The order has another version than If-Match names: its ETag is "3". Nothing changed.',
  },
  payload_too_large: { detail: 'The body may be at most 65536 bytes.' },
  unsupported_media_type: { detail: 'Send the body as application/json.' },
  invalid_request: {
    detail: '/data/amount must be greater than 0; /data/webhookurl is unknown; did you mean webhook_url?',
    errors: [
      { code: 'too_small', detail: 'must be greater than 0', pointer: '/data/amount' },
      { code: 'unknown_field', detail: 'is unknown; did you mean webhook_url?', pointer: '/data/webhookurl' },
    ],
  },
  idempotency_key_reused: {
    detail: 'This Idempotency-Key was used for a request with another body. Use a new key, or send the same body.',
  },
  rate_limited: {
    detail: 'The limit "key" of 1000 requests in 10 s is reached. Nothing changed. Retry in 7 s.',
  },
  headers_too_large: { detail: 'The request line and headers exceed the limit of 16384 bytes.' },
  internal_error: { detail: 'Something went wrong on our side. Quote the request_id when you contact support.' },
  overloaded: {
    detail: 'Too many new orders wait to be saved. Nothing changed. Repeating the call later is safe.',
  },
  service_unavailable: {
    detail: 'The database is unavailable, and the outcome is unknown. Repeating the same call is safe.',
  },
};

/** Headers that only some errors have. */
const OWN_HEADERS: Partial<Record<ProblemCode, Record<string, z.ZodType>>> = {
  unauthorized: { 'WWW-Authenticate': HEADERS.wwwAuthenticate },
  method_not_allowed: { Allow: HEADERS.allow },
  precondition_failed: { ETag: HEADERS.etag },
  idempotency_key_in_progress: { 'Retry-After': HEADERS.retryAfter },
  rate_limited: { 'Retry-After': HEADERS.retryAfter },
  too_many_webhook_secrets: { 'Retry-After': HEADERS.retryAfter },
  overloaded: { 'Retry-After': HEADERS.retryAfter },
  service_unavailable: { 'Retry-After': HEADERS.retryAfter },
};

/** Errors of requests that cannot be read. They occur before rate limits are applied. */
export const UNREADABLE: readonly ProblemCode[] = ['bad_request', 'request_timeout', 'headers_too_large'];

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
  const examples = codes.map((code) => [code, { summary: PROBLEMS[code].title, value: exampleOf(code) }] as const);
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('. '),
    headers: z.object(headersOf(codes)),
    content: { [PROBLEM_TYPE]: { schema: problemSchema, examples: Object.fromEntries(examples) } },
  };
}

/** A header that only some of the codes have is optional. */
function headersOf(codes: readonly ProblemCode[]): Record<string, z.ZodType> {
  const each = codes.map((code): Record<string, z.ZodType> => ({
    ...(UNREADABLE.includes(code) ? { 'X-Request-Id': HEADERS.requestId } : STANDARD_HEADERS),
    'Cache-Control': HEADERS.cacheControl,
    ...OWN_HEADERS[code],
  }));
  return Object.fromEntries(
    Object.entries(Object.assign({}, ...each) as Record<string, z.ZodType>).map(([name, header]) => [
      name,
      each.every((headers) => name in headers) ? header : sometimes(header),
    ]),
  );
}

function exampleOf(code: ProblemCode): ProblemBody {
  const { detail, ...options } = EXAMPLES[code];
  return new Problem(code, detail, options).toBody(
    '/api/lending/edge/ecommerce/order/3f0c8a52-6c1b-4d0e-9a57-0b6f2f1c7d34/',
    '0d2c9c6e-7e7b-4a53-9f0b-2f1f3f6f6c11',
  );
}

function toPascalCase(code: string): string {
  return code.replace(/(?:^|_)(\w)/g, (_match, letter: string) => letter.toUpperCase());
}
