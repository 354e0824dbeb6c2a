/** The delivery state of a webhook event: `pending`, or how the delivery ended. */
export const WEBHOOK_STATES = ['pending', 'delivered', 'exhausted', 'disabled'] as const;
export type WebhookState = (typeof WEBHOOK_STATES)[number];

/** Why an attempt failed. */
export const ATTEMPT_ERRORS = [
  'http_status',
  'redirect',
  'timeout',
  'dns',
  'refused',
  'reset',
  'tls',
  'invalid_url',
  'no_secret',
  'invalid_response',
  'network',
] as const;
export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

/** What an attempt to deliver a webhook shows its seller. Durations count from its start; null if it did not get that far. */
export interface AttemptResult {
  /** HTTP status; null without a response in time. */
  status: number | null;
  error: AttemptError | null;
  /** One line of plain text, at most 300 characters, without control characters. */
  errorDetail: string | null;
  /** The receiver's IP address; null without a (TLS) connection. */
  address: string | null;
  durationMs: number;
  /** Until the TLS handshake is complete, or the TCP connection without TLS. */
  connectedMs: number | null;
  /** Until the status line and the headers have arrived. */
  headersMs: number | null;
  /** First 1 KiB of the response body as text that Postgres can store: valid UTF-8 without NUL. */
  responseBody: string;
  /** True if the request had the seller's static headers. */
  hasStaticHeaders: boolean;
}

/** The webhooks of a resend of many. */
export interface WebhookSelection {
  sellerId?: string | undefined;
  /** Omitted: any state. */
  state?: WebhookState | undefined;
  /** Omitted: of any order. */
  orderIds?: readonly string[] | undefined;
  /** ISO 8601, inclusive. */
  since?: string | undefined;
  /** ISO 8601, exclusive. */
  until?: string | undefined;
  /** A webhook id: the selection continues after this webhook. */
  after?: string | undefined;
}
