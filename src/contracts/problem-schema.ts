import { z } from 'zod';
import { ORDER_STATUSES } from '../domain/status';

/** Every error a caller can meet: stable code -> HTTP status and title (RFC 9457). */
export const PROBLEMS = {
  malformed_json: { status: 400, title: 'The body is not valid JSON' },
  bad_request: { status: 400, title: 'The request could not be read' },
  invalid_idempotency_key: { status: 400, title: 'The Idempotency-Key header is invalid' },
  unauthorized: { status: 401, title: 'No valid API key' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  request_timeout: { status: 408, title: 'The request took too long to arrive' },
  duplicate_reference: { status: 409, title: 'The reference is taken by another order' },
  idempotency_key_in_progress: { status: 409, title: 'The first request with this Idempotency-Key is still running' },
  order_not_cancellable: { status: 409, title: 'The order cannot be cancelled' },
  transition_not_allowed: { status: 409, title: 'The event is not allowed in the status of the order' },
  payload_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The body must be application/json' },
  invalid_request: { status: 422, title: 'The request is invalid' },
  idempotency_key_reused: { status: 422, title: 'The Idempotency-Key was used with another body' },
  rate_limited: { status: 429, title: 'Too many requests' },
  headers_too_large: { status: 431, title: 'The headers are too large' },
  internal_error: { status: 500, title: 'Something went wrong on our side' },
  service_unavailable: { status: 503, title: 'Temporarily unavailable' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;
const PROBLEM_CODES = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]];

/** All that can be wrong with a field: stable codes, told one by one in docs/errors.md. */
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
  'inexact_number',
  'forbidden_key',
] as const;
export type FieldErrorCode = (typeof FIELD_ERROR_CODES)[number];

export const fieldErrorSchema = z
  .object({
    code: z.enum([...FIELD_ERROR_CODES, ...PROBLEM_CODES]).meta({
      description:
        'Stable, snake_case: what is wrong with the field, else the code of the problem. Further ones may be added.',
      examples: ['too_small'],
    }),
    detail: z.string().meta({ description: 'For people', examples: ['must be more than 0'] }),
    pointer: z
      .string()
      .optional()
      .meta({ description: 'RFC 6901 pointer into the request body', examples: ['/data/amount'] }),
    parameter: z
      .string()
      .optional()
      .meta({ description: 'Name of a search parameter', examples: ['limit'] }),
  })
  .meta({ id: 'FieldError', description: 'One thing that is wrong with the request' });
export type FieldError = z.infer<typeof fieldErrorSchema>;

/** The body of every error, `application/problem+json`. */
export const problemSchema = z
  .object({
    type: z.string().meta({ description: 'A URN that ends with the code' }),
    title: z.string().meta({ description: 'The code in words; the same each time' }),
    status: z.number().int().meta({ description: 'The HTTP status' }),
    detail: z.string().meta({ description: 'What went wrong this time, for people' }),
    instance: z.string().meta({ description: 'The path that was called' }),
    code: z
      .enum(PROBLEM_CODES)
      .meta({ description: 'Stable, snake_case: what a program goes by. Further ones may be added.' }),
    request_id: z
      .string()
      .meta({ description: 'As in the header `X-Request-Id`; quote it when you ask about the call' }),
    errors: z.array(fieldErrorSchema).min(1).meta({ description: 'Everything that is wrong, not only the first' }),
    order_id: z
      .string()
      .optional()
      .meta({ description: 'With `duplicate_reference`: the order that holds the reference' }),
    order_url: z.string().optional().meta({ description: 'With `duplicate_reference`: where its customer checks out' }),
    order_status: z
      .enum(ORDER_STATUSES)
      .optional()
      .meta({ description: 'With a refused change: the status it met. With `duplicate_reference`: of that order' }),
    order_amount: z
      .number()
      .optional()
      .meta({ description: 'With `duplicate_reference`: the amount of that order in pounds (GBP)' }),
  })
  .meta({ id: 'Problem', description: 'Any error (RFC 9457)' });
export type ProblemBody = z.infer<typeof problemSchema>;

/** What comes with some codes only. */
export type ProblemMembers = Pick<ProblemBody, 'order_id' | 'order_url' | 'order_status' | 'order_amount'>;
