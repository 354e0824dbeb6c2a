import type { OrderStatus } from '../domain/order';

/** One error of the API. docs/sellers/errors.md and the OpenAPI document are generated from the table. */
interface ProblemEntry {
  status: number;
  title: string;
  /** When it happens, as Markdown without links. */
  cause: string;
  /** What the caller does about it, as Markdown without links. */
  cure: string;
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
    cause:
      'The body is empty, incomplete or not valid JSON, is not UTF-8, or contains U+FFFD, the replacement character. `detail` shows the ' +
      'place: line and column, counted from 1, and the characters before it.',
    cure: 'Fix the request. Nothing changed.',
    detail: 'The body is not valid JSON: property name expected at line 1, column 28, after `": 1234.5,`.',
  },
  invalid_idempotency_key: {
    status: 400,
    title: 'The Idempotency-Key header is invalid',
    cause:
      'The key is empty, longer than 255 characters, or contains characters other than printable ASCII without spaces.',
    cure: 'Send a valid key, such as a UUID. Nothing changed.',
    detail: 'The Idempotency-Key must be 1 to 255 printable ASCII characters without spaces.',
  },
  unauthorized: {
    status: 401,
    title: 'The API key is missing or invalid',
    cause:
      'The key is missing, unknown or revoked, its account is disabled, or it is the wrong kind of key, such as a seller key ' +
      'on a checkout endpoint or a webhook secret. `detail` states what was sent, such as the kind of key.',
    cure:
      'Check the key; `connection_check` shows whether it works. The operator creates, replaces and revokes keys. Requests ' +
      'without a valid key count towards the limit of their address.',
    detail:
      'The key sk_rev… is unknown or revoked, or its account is disabled. Send "Authorization: Bearer <key>" with a valid seller key.',
    headers: ['WWW-Authenticate'],
  },
  sandbox_only: {
    status: 403,
    title: 'Only a sandbox account can do this',
    cause: 'The call simulates a customer, and the account is live. Nothing changed.',
    cure: 'Use the key and the orders of a sandbox account.',
    detail: 'The order belongs to a live account. Only orders of a sandbox account can be simulated.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    cause:
      'The path does not exist, an ID in it is not a UUID, the path names a seller that the key does not belong to, or the ' +
      'resource does not exist, was deleted, or belongs to another seller. `detail` states which. It does not distinguish a missing ' +
      "resource from another seller's.",
    cure: 'Check the IDs, and that the key belongs to the right seller: `detail` names the seller of the key.',
    detail: 'The key belongs to the seller 2c9d6f0a-8f7e-4c55-b1d4-90b7a3a1c6e2, which has no order with this ID.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    cause: 'The path does not support the method. The header `Allow` lists the supported methods.',
    cure: 'Fix the request.',
    detail: 'This path supports DELETE, GET, HEAD.',
    headers: ['Allow'],
  },
  duplicate_reference: {
    status: 409,
    title: 'The reference is taken by another order',
    cause:
      'One of your orders is open or SUCCESSFUL and has this reference. `order_id`, `order_url`, `order_status` and ' +
      '`order_amount` (in pounds) describe that order.',
    cure:
      'If that order is open and has the same amount, the response to your first request was probably lost: use that order. ' +
      'If it is SUCCESSFUL, the customer has already completed it: do not create another one, and ship only if its amount is ' +
      'the price of what you ship, because the cart may have changed since the order was created. To change the amount, cancel ' +
      'that order, which frees its reference, and repeat the request.',
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
    cause: 'The first request with this key did not finish within a few seconds.',
    cure:
      'Repeat the same request with the same key after the number of seconds in `Retry-After`. It returns the response to ' +
      'the first request, or creates the order if the first request failed.',
    detail: 'The first request with this Idempotency-Key is still running. Repeating the call is safe.',
    headers: ['Retry-After'],
  },
  order_not_cancellable: {
    status: 409,
    title: 'The order cannot be cancelled',
    cause: 'The order is SUCCESSFUL, which is final.',
    cure:
      'Nothing changed. Fulfil the order if its amount is the price of what you ship. Otherwise agree on a refund with the ' +
      'lender, or for Pay now with the operator, outside this API.',
    detail: 'The order is SUCCESSFUL and cannot be cancelled.',
    members: { order_status: 'SUCCESSFUL' },
  },
  transition_not_allowed: {
    status: 409,
    title: "The order's status does not allow the event",
    cause:
      '`order_status` is the current status. Only the checkout reports events; in a sandbox account, the seller can simulate ' +
      'them.',
    cure: 'Retrieve the order. An event that was already reported for the order is not an error: it returns 200.',
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
    cause: 'The order names no `webhook_url`, and the account has no webhook endpoint. Nothing was sent.',
    cure: 'Set the webhook endpoint of your account, and repeat the call.',
    detail: 'The order names no webhook_url, and the account has no webhook endpoint.',
  },
  resend_in_progress: {
    status: 409,
    title: 'Another resend of many webhooks is still in progress',
    cause:
      'Another resend of many webhooks of yours, by you or by the operator, is still in progress. It continues, and this call requested nothing.',
    cure: 'Repeat the call when the resend has ended: it resends about four webhooks a second.',
    detail: 'The previous resend of many webhooks is still in progress. It continues, and nothing else was requested.',
  },
  too_many_webhook_secrets: {
    status: 409,
    title: 'Too many webhook secrets are active',
    cause: 'Five webhook secrets are active. A sixth would end the oldest before its promised time.',
    cure:
      'Rotate again after `Retry-After`, when the first of them expires. If a secret has leaked, rotate with ' +
      '`"overlap_seconds": 0`: this always works and ends all older secrets immediately. Nothing changed.',
    detail:
      '5 webhook secrets are active, the maximum. The first one ends at 2026-11-22T09:00:00.000Z; rotate again then. ' +
      'To end all older secrets immediately instead, rotate with "overlap_seconds": 0.',
    headers: ['Retry-After'],
  },
  webhook_content_deleted: {
    status: 410,
    title: 'The content of the webhook was deleted',
    cause:
      'Body and attempts of a webhook that has ended are deleted after 90 days by default, or when the data of a person ' +
      'is erased. `content_deleted_at` of the webhook is the time.',
    cure: 'Retrieve the order, which shows its state, or its timeline, which shows the changes. Nothing changed.',
    detail: 'The body and the attempts of this webhook were deleted at 2026-11-21T09:00:00.000Z. It cannot be resent.',
  },
  precondition_failed: {
    status: 412,
    title: 'The order has another version',
    cause:
      'The order has changed: its version is not in `If-Match`. The `ETag` of the response is that of the current version. ' +
      'A weak `ETag` (`W/"2"`), as some proxies make of it, never matches.',
    cure: 'Retrieve the order, and decide again. Nothing changed.',
    detail: 'If-Match does not name the ETag of the order, which is "2" now. Nothing changed.',
    headers: ['ETag'],
  },
  payload_too_large: {
    status: 413,
    title: 'The request body is too large',
    cause: 'The limit is 64 KiB by default. `detail` names the limit.',
    cure: 'Send a smaller body. Nothing changed.',
    detail: 'The body may be at most 65536 bytes.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The request body must be application/json',
    cause: 'The body is not `application/json`, its `charset` is not UTF-8, or it is compressed (`Content-Encoding`).',
    cure: 'Set `Content-Type: application/json`, and send the body uncompressed. Nothing changed.',
    detail: 'Send the header "Content-Type: application/json" with the body.',
  },
  invalid_request: {
    status: 422,
    title: 'The request is invalid',
    cause:
      'The body or a query parameter is invalid. `errors` lists up to 50 errors, each with a `pointer` into the body or the ' +
      'name of the `parameter`. For an unknown field, `detail` suggests the closest known name.',
    cure: 'Fix every listed field. Nothing changed, and the Idempotency-Key is still unused.',
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
    cause:
      'The key was already used to create an order from a different body. A key is kept for as long as its order exists.',
    cure:
      'To repeat a request, send the same body. Use a new key for each payment attempt: if the cart changed, or if its order ' +
      'is UNSUCCESSFUL. Also use a new key if a release of your shop changes what it sends, such as the `redirect_url`: ' +
      '`duplicate_reference` then names the existing order.',
    detail: 'This Idempotency-Key was used for a request with another body. Use a new key, or send the same body.',
  },
  checkout_not_ready: {
    status: 422,
    title: 'Customers of this account cannot check out yet',
    cause:
      'The account is live, and the hosted checkout has no lender for live accounts, or no payment provider for an order ' +
      'that can only be paid now. `detail` names what is missing.',
    cure: 'Use a sandbox account for tests, and ask the operator of the service when live orders are possible. Nothing changed.',
    detail: 'Your account is live, and no lender is connected for live accounts: customers could not check out.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    cause:
      'A limit in `RateLimit-Policy` is exceeded: for the key, for the seller, or, for requests without a valid key or ' +
      'with one that was not used lately, for the IP address.',
    cure: 'Wait for the number of seconds in `Retry-After`. Nothing changed.',
    detail: 'The limit "key" of 1000 requests in 10 s is reached. Nothing changed. Retry in 7 s.',
    headers: ['Retry-After'],
  },
  quota_exceeded: {
    status: 429,
    title: 'The account has created too many orders today',
    cause:
      'The account may create only so many orders, or bytes of orders, on one day (UTC). `detail` states which limit. All ' +
      'other calls still work, also with the orders of today.',
    cure:
      'Create the order after midnight UTC, the number of seconds in `Retry-After` from now, or ask the operator for a higher ' +
      'limit. Nothing changed.',
    detail: 'Your account may create 20000 orders a day (UTC), and has. Nothing changed.',
    headers: ['Retry-After'],
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    cause: 'An unexpected error in the service.',
    cure:
      'Repeat the request. If the error persists, contact support with the `request_id`. If you created an order without an ' +
      'Idempotency-Key, the order may exist; its reference prevents a second one.',
    detail: 'Something went wrong on our side. Quote the request_id when you contact support.',
  },
  overloaded: {
    status: 503,
    title: 'Too many new orders are waiting',
    cause:
      'So many new orders arrive that this one could not be saved in time. Nothing changed. Calls about existing orders work.',
    cure: 'Repeat the same request after the number of seconds in `Retry-After`.',
    detail: 'Too many new orders wait to be saved. Nothing changed. Repeating the call later is safe.',
    headers: ['Retry-After'],
  },
  service_unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    cause:
      "The database or the order's workflow is unavailable, an order with the same reference is just being created or " +
      "closed, or a call has waited for ten seconds because too many of the seller's calls are running. `detail` states " +
      'whether nothing changed or the outcome is unknown.',
    cure:
      'Repeat the same request after the number of seconds in `Retry-After`. This is safe in both cases, except for a ' +
      'rotation or a webhook test, which may take effect twice.',
    detail: 'The database is unavailable. Nothing changed. Repeating the call is safe.',
    headers: ['Retry-After'],
  },
} satisfies Record<string, ProblemEntry>;

export type ProblemCode = keyof typeof TABLE;

/** Every error of the API (RFC 9457) by its code, in the order of their statuses. Codes are stable. */
export const PROBLEMS: Record<ProblemCode, ProblemEntry> = TABLE;
export const PROBLEM_CODES = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]];

/** The codes of an invalid field, with what each means. Codes are stable. */
export const FIELD_ERRORS = {
  required: 'The field is missing or `null`.',
  unknown_field: 'The field does not exist. `detail` suggests the closest known name.',
  invalid_type:
    'The field has the wrong JSON type, such as a string instead of a number, or a query parameter is repeated.',
  invalid_value:
    'The value is not one of the allowed values, such as an unknown status or event or an unsupported year.',
  invalid_format:
    'The value has the wrong format: a time, a `limit`, or a `cursor` that is not a `next_cursor` of this list.',
  invalid_amount: 'The value is not an amount in pounds with at most two decimal places.',
  invalid_url:
    'The value is not an allowed URL: its syntax, its scheme, a user name, or a private address for webhooks.',
  invalid_characters:
    'The text contains control characters, line breaks, NUL or invalid Unicode; or a reference contains invisible ' +
    'characters, as some emoji do, two spaces in a row, or spaces other than the ordinary one.',
  surrounding_blanks: 'The text starts or ends with whitespace.',
  too_small: 'The value is below the minimum, or a text or list is empty.',
  too_big: 'The value, text or list exceeds the limit of the service or of your account.',
  too_deep: 'The object is nested more than 32 levels deep, or the whole body more than 100.',
  duplicate_value: 'The list contains a value twice.',
  duplicate_key: 'A JSON object contains a key twice. Only the first such key is reported, without other errors.',
  forbidden_key: 'The object contains the key `__proto__`.',
};

export type FieldErrorCode = keyof typeof FIELD_ERRORS;
export const FIELD_ERROR_CODES = Object.keys(FIELD_ERRORS) as [FieldErrorCode, ...FieldErrorCode[]];
