import { z } from 'zod';
import { openEnum } from './open-enum';
import { DOUBLE, orderStatus } from './order-schemas';

/** Every error of the API: code -> HTTP status and title (RFC 9457). Codes are stable. */
export const PROBLEMS = {
  malformed_json: { status: 400, title: 'The request body is not valid JSON' },
  bad_request: { status: 400, title: 'The request could not be read' },
  invalid_idempotency_key: { status: 400, title: 'The Idempotency-Key header is invalid' },
  unauthorized: { status: 401, title: 'The API key is missing or invalid' },
  sandbox_only: { status: 403, title: 'Only a sandbox account can do this' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  request_timeout: { status: 408, title: 'The request took too long to arrive' },
  duplicate_reference: { status: 409, title: 'The reference is taken by another order' },
  idempotency_key_in_progress: { status: 409, title: 'A request with this Idempotency-Key is still in progress' },
  order_not_cancellable: { status: 409, title: 'The order cannot be cancelled' },
  transition_not_allowed: { status: 409, title: "The order's status does not allow the event" },
  resend_in_progress: { status: 409, title: 'Another resend of many webhooks is still in progress' },
  too_many_webhook_secrets: { status: 409, title: 'Too many webhook secrets are active' },
  precondition_failed: { status: 412, title: 'The order has another version' },
  payload_too_large: { status: 413, title: 'The request body is too large' },
  unsupported_media_type: { status: 415, title: 'The request body must be application/json' },
  invalid_request: { status: 422, title: 'The request is invalid' },
  idempotency_key_reused: { status: 422, title: 'The Idempotency-Key was used with another body' },
  rate_limited: { status: 429, title: 'Too many requests' },
  headers_too_large: { status: 431, title: 'The request headers are too large' },
  internal_error: { status: 500, title: 'Internal error' },
  overloaded: { status: 503, title: 'Too many new orders are waiting' },
  service_unavailable: { status: 503, title: 'Temporarily unavailable' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;
const PROBLEM_CODES = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]];

/** Stable codes for an invalid field. docs/errors.md explains each. */
export const FIELD_ERROR_CODES = [
  'required',
  'unknown_field',
  'invalid_type',
  'invalid_value',
  'invalid_format',
  'invalid_amount',
  'invalid_url',
  'invalid_characters',
  'surrounding_blanks',
  'too_small',
  'too_big',
  'too_deep',
  'duplicate_value',
  'duplicate_key',
  'forbidden_key',
] as const;
export type FieldErrorCode = (typeof FIELD_ERROR_CODES)[number];

const openCode = <T extends string>(known: readonly [T, ...T[]], description: string) =>
  openEnum(
    known,
    `${description} New codes may be added. Known codes: ${known.map((one) => `\`${one}\``).join(', ')}.`,
  );

// As for actors and channels, the TypeScript client accepts any string too, and editors suggest the known values.
type OpenCode<T extends string> = z.ZodType<T | (string & Record<never, never>)>;
const problemCode: OpenCode<ProblemCode> = openCode(
  PROBLEM_CODES,
  'Machine-readable and stable; use it to handle errors.',
);
const fieldErrorCode: OpenCode<FieldErrorCode | ProblemCode> = openCode(
  [...FIELD_ERROR_CODES, ...PROBLEM_CODES],
  'Machine-readable and stable. The kind of field error, or the `code` of the problem.',
).meta({ examples: ['too_small'] });

const fieldErrorSchema = z
  .object({
    code: fieldErrorCode,
    detail: z
      .string()
      .meta({ description: 'Human-readable explanation; may change', examples: ['must be greater than 0'] }),
    pointer: z
      .string()
      .optional()
      .meta({ description: 'JSON pointer (RFC 6901) to a field of the request body', examples: ['/data/amount'] }),
    parameter: z
      .string()
      .optional()
      .meta({ description: 'Name of a query parameter', examples: ['limit'] }),
  })
  .meta({ id: 'FieldError', description: 'One error of the request' });
export type FieldError = z.infer<typeof fieldErrorSchema>;

export const PROBLEM_TYPE = 'application/problem+json';

/** The body of every error response. */
export const problemSchema = z
  .object({
    type: z.string().meta({ description: 'A URN that ends with `code`' }),
    title: z.string().meta({ description: 'Short summary; the same for every problem with this code' }),
    status: z.number().int().meta({ description: 'HTTP status' }),
    detail: z.string().meta({ description: 'Human-readable explanation of this occurrence; may change' }),
    instance: z.string().meta({ description: 'Path of the request; `/` if the request could not be read' }),
    code: problemCode,
    request_id: z
      .string()
      .meta({ description: 'The value of the header `X-Request-Id`. Include it in support requests.' }),
    errors: z.array(fieldErrorSchema).min(1).meta({ description: 'The errors of the request, at most 50' }),
    order_id: z
      .string()
      .optional()
      .meta({ description: 'For `duplicate_reference`: ID of the order that uses the reference' }),
    order_url: z
      .string()
      .optional()
      .meta({ description: 'For `duplicate_reference`: `order_url` of the order that uses the reference' }),
    order_status: orderStatus.optional().meta({
      description: 'Current status of the order. For `duplicate_reference`: of the order that uses the reference.',
    }),
    order_amount: z
      .number()
      .optional()
      .meta({
        ...DOUBLE,
        description: 'For `duplicate_reference`: amount, in pounds (GBP), of the order that uses the reference',
      }),
  })
  .meta({ id: 'Problem', description: 'An error (RFC 9457)' });
export type ProblemBody = z.infer<typeof problemSchema>;

/** Fields that only some codes have. */
export type ProblemMembers = Pick<ProblemBody, 'order_id' | 'order_url' | 'order_status' | 'order_amount'>;
