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
  'address_refused',
  'invalid_url',
  'no_secret',
  'invalid_response',
  'interrupted',
  'network',
] as const;
export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

/** A test webhook to send. */
export interface WebhookTest {
  sellerId: string;
  webhookId: string;
  url: string;
}

/** The webhooks of a resend of many. */
export interface WebhookSelection {
  sellerId?: string | undefined;
  /** Omitted: any state. */
  state?: WebhookState | undefined;
  /** ISO 8601, inclusive. */
  since?: string | undefined;
  /** ISO 8601, exclusive. */
  until?: string | undefined;
  /** A webhook id: the selection continues after this webhook. */
  after?: string | undefined;
}
