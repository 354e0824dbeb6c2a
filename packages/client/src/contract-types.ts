// The bodies of requests and responses. The service validates with schemas of its own; `npm run typecheck` compares them:
// see test/clients/contract-types.ts.

/** One of the known values, or one that a later version of the service adds. */
type Open<Known extends string> = Known | (string & Record<never, never>);

type OrderStatus = 'CREATED' | 'PENDING' | 'APPROVED' | 'SUCCESSFUL' | 'UNSUCCESSFUL';
export type PaymentTerm = 'PAY_NOW' | 'PAY_LATER';
type WebhookState = 'pending' | 'delivered' | 'exhausted' | 'disabled';
type Actor = Open<'seller' | 'customer' | 'checkout' | 'operator' | 'system'>;
type Channel = Open<'api' | 'hosted_checkout' | 'cli' | 'workflow' | 'temporal'>;

/** What an automated test can do in place of a customer. */
export type SimulatedEvent = 'signup_started' | 'approved' | 'declined' | 'completed' | 'failed' | 'expired';

/** `amount` is in pounds, not pence: 1234.5 is £1,234.50. `redirect_url` is required unless the account has a default. */
export interface NewOrder {
  amount: number;
  reference: string;
  allowed_payment_terms?: readonly PaymentTerm[] | null | undefined;
  webhook_url?: string | null | undefined;
  redirect_url?: string | null | undefined;
  cancel_url?: string | null | undefined;
  /** ISO 8601, in the future, at most 366 days ahead. */
  expires_at?: string | null | undefined;
  source?: string | null | undefined;
  meta_data?: Record<string, unknown> | null | undefined;
}

export interface CreatedOrderBody {
  id: string;
  /** In pounds. */
  amount: number;
  reference: string;
  /** Where the customer pays. */
  order_url: string;
  status: OrderStatus;
  allowed_payment_terms: PaymentTerm[];
}

export interface Order extends CreatedOrderBody {
  redirect_url: string;
  cancel_url?: string | undefined;
  webhook_url?: string | undefined;
  pricing: {
    representative_interest: number;
    promotions: { name: string; interest_free_days: number; valid_until: string }[];
  };
  pay_link_id: string;
  seller_name: string;
  /** Present and true for an order of a sandbox account. */
  sandbox?: boolean | undefined;
  created_at: string;
  updated_at: string;
  expires_at?: string | undefined;
  cancelled_at?: string | undefined;
  /** When it became SUCCESSFUL. */
  completed_at?: string | undefined;
  /** How you are paid, once the lender or the bank has named it. */
  settlement?: { reference: string; fee: number; payout_date: string } | undefined;
  /** How the customer chose to pay. */
  payment_term?: PaymentTerm | undefined;
  unsuccessful_reason?: Open<'declined' | 'failed' | 'expired' | 'cancelled'> | undefined;
  source?: string | undefined;
  meta_data?: Record<string, unknown> | undefined;
}

export interface OrderFilter {
  status?: OrderStatus | undefined;
  reference?: string | undefined;
  /** In pounds. */
  amount?: number | undefined;
  /** ISO 8601, inclusive. */
  created_from?: string | undefined;
  /** ISO 8601, exclusive. */
  created_before?: string | undefined;
  /** ISO 8601, inclusive. The order that changed last comes first. */
  updated_from?: string | undefined;
  /** ISO 8601, exclusive. The order that changed last comes first. */
  updated_before?: string | undefined;
  /** ISO 8601, inclusive. The order that completed last comes first. */
  completed_from?: string | undefined;
  /** ISO 8601, exclusive. The order that completed last comes first. */
  completed_before?: string | undefined;
}

/** The result of an HTTP request to a receiver of webhooks. */
interface AttemptResult {
  /** The HTTP status; null without a response. */
  status: number | null;
  /** Why it failed; null if it succeeded. */
  error: string | null;
  error_detail: string | null;
  address: string | null;
  duration_ms: number;
  connected_ms: number | null;
  headers_ms: number | null;
  /** The first KiB. */
  response_body: string;
  /** True if the request had your static headers. */
  static_headers: boolean;
}

interface Entry {
  at: string;
  event: string;
  actor: Actor;
  channel: Channel;
  reason: string | null;
}

type TimelineWebhook = Pick<
  WebhookEvent,
  'id' | 'sequence' | 'state' | 'next_attempt_at' | 'last_error' | 'endpoint' | 'content_deleted_at'
>;

interface Change extends Entry {
  type: 'change';
  from: OrderStatus | null;
  to: OrderStatus;
  payment_term: PaymentTerm | null;
  version: number;
  webhook: TimelineWebhook | null;
}

interface Refusal extends Entry {
  type: 'refusal';
  order_status: OrderStatus;
}

interface WebhookAttempt extends AttemptResult {
  type: 'webhook_attempt';
  at: string;
  webhook_id: string;
  sequence: number;
  attempt: number;
  resend: boolean;
  /** Of the URL that was called. */
  origin: string | null;
  next_attempt_at: string | null;
}

export type TimelineEntry = Change | Refusal | WebhookAttempt;

/** The origin of your webhook URLs, as the stored attempts show it. */
export interface WebhookEndpoint {
  origin: string;
  /** What the last attempt got: a 2xx, another response, or none. Null if no attempt is stored. */
  state: Open<'answering' | 'failing' | 'not_answering'> | null;
  since: string | null;
  last_error: string | null;
  /** All webhooks to it wait, and from this time on one of them is sent as a probe. */
  next_probe_at: string | null;
}

/** The account's own webhook URL. */
export interface NewAccountWebhookEndpoint {
  /** For orders that name none; null: their webhooks are not sent. */
  url: string | null;
  /** Complete URLs, or origins without a trailing slash, whose webhooks go to `url` from now on. Default: none. */
  replaces?: readonly string[] | null | undefined;
}

export interface AccountWebhookEndpoint {
  url: string | null;
  replaces: string[];
  /** The endpoints that were called within 30 days, those that do not answer first. */
  endpoints: WebhookEndpoint[];
}

export interface WebhookEvent {
  id: string;
  type: 'order.status_changed';
  order_id: string;
  reference: string;
  sequence: number;
  state: WebhookState;
  attempts: number;
  created_at: string;
  next_attempt_at: string | null;
  /** Why it is not delivered; null if it is, or its first attempt is due. */
  last_error: string | null;
  /** Where it goes now; null if neither the order nor the account has a URL. */
  endpoint: WebhookEndpoint | null;
  /** When body and attempts were deleted: it cannot be retrieved or resent. */
  content_deleted_at: string | null;
}

export interface SignedWebhook extends WebhookEvent {
  request_headers: Record<string, string>;
  request_body: string;
}

export interface WebhookFilter {
  state?: WebhookState | undefined;
  /** ISO 8601, inclusive. */
  created_from?: string | undefined;
}

/** The webhooks of a resend of many: at least a state, an order or a time. */
export interface WebhookSelection {
  state?: WebhookState | null | undefined;
  order_id?: string | null | undefined;
  /** ISO 8601, inclusive. */
  created_from?: string | null | undefined;
  /** ISO 8601, exclusive. Default: the time of the call. */
  created_before?: string | null | undefined;
}

/** The webhooks that are resent. Null: any. */
export interface ResentWebhooks {
  state: WebhookState | null;
  order_id: string | null;
  created_from: string | null;
  created_before: string;
}

/** Up to five headers that webhooks to one origin carry. */
export interface NewWebhookHeaders {
  /** Scheme, host and port of the webhook URLs, such as `https://shop.example`. */
  origin: string;
  headers: { name: string; value: string }[];
}

/** A person who will use the seller's page. */
export interface NewPortalSession {
  /** For the audit log. */
  user?: string | null | undefined;
  read_only?: boolean | null | undefined;
}

export interface PortalSession {
  /** Redirect the person to it. It works once, for ten minutes. */
  url: string;
  expires_at: string;
  user: string | null;
  read_only: boolean;
}

export interface WebhookHeaders {
  origin: string;
  /** In lower case. */
  names: string[];
}

export interface WebhookTestResult extends AttemptResult {
  webhook_id: string;
  delivered: boolean;
  request_body: string;
}

/** The repayments of an order that is approved today. Amounts are in pounds. */
export interface RepaymentExample {
  amount: number;
  instalments: { due_in_months: number; amount: number }[];
  total_amount: number;
  /** In percent. */
  annual_interest?: number | undefined;
  promotion?: { name: string; interest_free_days: number } | undefined;
}

export interface RotatedWebhookSecret {
  webhook_secret: string;
  previous_valid_until: string | null;
}

/** The body of a webhook. */
export interface OrderStatusChanged {
  type: 'order.status_changed';
  timestamp: string;
  data: {
    order: Order;
    previous_status: OrderStatus;
    event: Open<'signup_started' | 'approved' | 'declined' | 'completed' | 'failed' | 'expired' | 'cancel'>;
    sequence: number;
    actor: Actor;
    reason: string | null;
  };
}

/** The body of a webhook that `testWebhook` sends. */
export interface WebhookTest {
  type: 'webhook.test';
  timestamp: string;
  data: { seller_id: string; seller_name: string };
}

export type ProblemCode = Open<
  | 'checkout_not_ready'
  | 'duplicate_reference'
  | 'idempotency_key_in_progress'
  | 'idempotency_key_reused'
  | 'internal_error'
  | 'invalid_idempotency_key'
  | 'invalid_request'
  | 'malformed_json'
  | 'method_not_allowed'
  | 'no_webhook_url'
  | 'not_found'
  | 'order_not_cancellable'
  | 'overloaded'
  | 'payload_too_large'
  | 'precondition_failed'
  | 'rate_limited'
  | 'quota_exceeded'
  | 'resend_in_progress'
  | 'sandbox_only'
  | 'service_unavailable'
  | 'too_many_webhook_secrets'
  | 'transition_not_allowed'
  | 'unauthorized'
  | 'unsupported_media_type'
  | 'webhook_content_deleted'
>;

export interface FieldError {
  /** See the API reference. New codes may be added. */
  code: string;
  detail: string;
  pointer?: string | undefined;
  parameter?: string | undefined;
}

/** The body of an error response (RFC 9457). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: ProblemCode;
  request_id: string;
  errors: FieldError[];
  order_id?: string | undefined;
  order_url?: string | undefined;
  order_status?: OrderStatus | undefined;
  order_amount?: number | undefined;
}
