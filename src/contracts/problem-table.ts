import type { OrderStatus } from '../domain/order';

/** One error of the API, which docs/sellers/errors.md explains. */
interface ProblemEntry {
  status: number;
  title: string;
  /** The default of a response; an example where it depends on the request. A test compares it with the API's response. */
  detail: string;
  /** An example, if they differ from the default: the problem's own code and detail. */
  errors?: readonly { code: string; detail: string; pointer: string }[];
  /** An example. */
  members?: { order_id?: string; order_url?: string; order_status?: OrderStatus; order_amount?: number };
  /** Headers that every response with this code has, beyond those of all responses. */
  headers?: readonly ('Retry-After' | 'WWW-Authenticate' | 'Allow' | 'ETag')[];
}

const REFERENCE_TAKEN =
  'Another of your orders has this reference and is not UNSUCCESSFUL. Use that order, or cancel it first.';

const TABLE = {
  malformed_json: {
    status: 400,
    title: 'The request body is not valid JSON',
    detail: 'The body is not valid JSON: property name expected at line 1, column 28, after `": 1234.5,`.',
  },
  invalid_idempotency_key: {
    status: 400,
    title: 'The Idempotency-Key header is invalid',
    detail: 'The Idempotency-Key must be 1 to 255 printable ASCII characters without spaces.',
  },
  unauthorized: {
    status: 401,
    title: 'The API key is missing or invalid',
    detail:
      'The key sk_rev… is unknown or revoked, or its account is disabled. Send "Authorization: Bearer <key>" with a valid seller key.',
    headers: ['WWW-Authenticate'],
  },
  sandbox_only: {
    status: 403,
    title: 'Only a sandbox account can do this',
    detail: 'The order belongs to a live account. Only orders of a sandbox account can be simulated.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    detail: 'The key belongs to the seller 2c9d6f0a-8f7e-4c55-b1d4-90b7a3a1c6e2, which has no order with this ID.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    detail: 'This path supports DELETE, GET, HEAD.',
    headers: ['Allow'],
  },
  duplicate_reference: {
    status: 409,
    title: 'The reference is taken by another order',
    detail: REFERENCE_TAKEN,
    errors: [{ code: 'duplicate_reference', detail: REFERENCE_TAKEN, pointer: '/data/reference' }],
    members: {
      order_id: '3f0c8a52-6c1b-4d0e-9a57-0b6f2f1c7d34',
      order_url: 'https://checkout.example/pay/9b2e6f10-58a7-4c3d-8e21-7d4a1b9c0f65/',
      order_status: 'CREATED',
      order_amount: 1234.5,
    },
  },
  idempotency_key_in_progress: {
    status: 409,
    title: 'A request with this Idempotency-Key is still in progress',
    detail: 'The first request with this Idempotency-Key is still running. Repeating the call is safe.',
    headers: ['Retry-After'],
  },
  order_not_cancellable: {
    status: 409,
    title: 'The order cannot be cancelled',
    detail: 'The order is SUCCESSFUL and cannot be cancelled.',
    members: { order_status: 'SUCCESSFUL' },
  },
  transition_not_allowed: {
    status: 409,
    title: "The order's status does not allow the event",
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
  no_webhook_url: {
    status: 409,
    title: 'The webhook has no URL',
    detail: 'The order names no webhook_url, and the account has no webhook endpoint.',
  },
  resend_in_progress: {
    status: 409,
    title: 'Another resend of many webhooks is still in progress',
    detail: 'The previous resend of many webhooks is still in progress. It continues, and nothing else was requested.',
  },
  too_many_webhook_secrets: {
    status: 409,
    title: 'Too many webhook secrets are active',
    detail:
      '5 webhook secrets are active, the maximum. The first one ends at 2026-11-22T09:00:00.000Z; rotate again then. ' +
      'To end all older secrets immediately instead, rotate with "overlap_seconds": 0.',
    headers: ['Retry-After'],
  },
  webhook_content_deleted: {
    status: 410,
    title: 'The content of the webhook was deleted',
    detail: 'The body and the attempts of this webhook were deleted at 2026-11-21T09:00:00.000Z. It cannot be resent.',
  },
  precondition_failed: {
    status: 412,
    title: 'The order has another version',
    detail: 'If-Match does not name the ETag of the order, which is "2" now. Nothing changed.',
    headers: ['ETag'],
  },
  payload_too_large: {
    status: 413,
    title: 'The request body is too large',
    detail: 'The body may be at most 65536 bytes.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The request body must be application/json',
    detail: 'Send the header "Content-Type: application/json" with the body.',
  },
  invalid_request: {
    status: 422,
    title: 'The request is invalid',
    detail:
      '/data/amount must be in pounds with at most 2 decimal places; /data/reference must not be empty; ' +
      '/data/webhookUrl is unknown; did you mean webhook_url?',
    errors: [
      {
        code: 'invalid_amount',
        detail: 'must be in pounds with at most 2 decimal places',
        pointer: '/data/amount',
      },
      { code: 'too_small', detail: 'must not be empty', pointer: '/data/reference' },
      { code: 'unknown_field', detail: 'is unknown; did you mean webhook_url?', pointer: '/data/webhookUrl' },
    ],
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The Idempotency-Key was used with another body',
    detail: 'This Idempotency-Key was used for a request with another body. Use a new key, or send the same body.',
  },
  checkout_not_ready: {
    status: 422,
    title: 'Customers of this account cannot check out yet',
    detail: 'Your account is live, and no lender is connected for live accounts: customers could not check out.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    detail: 'The limit "key" of 1000 requests in 10 s is reached. Nothing changed. Retry in 7 s.',
    headers: ['Retry-After'],
  },
  quota_exceeded: {
    status: 429,
    title: 'The account has created too many orders today',
    detail: 'Your account may create 20000 orders a day (UTC), and has. Nothing changed.',
    headers: ['Retry-After'],
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    detail: 'Something went wrong on our side. Quote the request_id when you contact support.',
  },
  overloaded: {
    status: 503,
    title: 'Too many new orders are waiting',
    detail: 'Too many new orders wait to be saved. Nothing changed. Repeating the call later is safe.',
    headers: ['Retry-After'],
  },
  service_unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    detail: 'The database is unavailable. Nothing changed. Repeating the call is safe.',
    headers: ['Retry-After'],
  },
} satisfies Record<string, ProblemEntry>;

export type ProblemCode = keyof typeof TABLE;

/** Every error of the API (RFC 9457) by its code, in the order of their statuses. Codes are stable. */
export const PROBLEMS: Record<ProblemCode, ProblemEntry> = TABLE;
export const PROBLEM_CODES = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]];

/** The codes of an invalid field, which docs/sellers/errors.md explains. Codes are stable. */
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
