import { createHash } from 'node:crypto';
import type { AttemptError, AttemptResult } from '../domain/webhook';
import { type Order, type OrderChange, isStatusChange, sequenceOf, withChange } from '../domain/order';
import { toOrderBody } from './order-mapper';
import type { OrderBody } from './order-schemas';
import type { OrderStatusChanged, WebhookTest } from './webhook-schemas';

/** The webhook for one status change: its body is fixed here and never built again. */
export interface StatusWebhook {
  id: string;
  sequence: number;
  /** The exact text that is signed and sent. */
  body: string;
}

/**
 * The webhook for a change. It shows the order as the change leaves it.
 * @param order before the change
 * @returns undefined if the status stays the same
 */
export function toStatusWebhook(order: Order, change: OrderChange, checkoutBaseUrl: string): StatusWebhook | undefined {
  if (!isStatusChange(change)) return undefined;
  const after = withChange(order, change);
  const sequence = sequenceOf(after.changes, change);
  const body = JSON.stringify(toOrderStatusChanged(change, toOrderBody(after, checkoutBaseUrl), sequence));
  return { id: webhookId(order.id, sequence, body), sequence, body };
}

/**
 * A UUID of version 8 (RFC 9562, 5.8) made from the content: a webhook that a restored backup has lost gets the same id
 * again, and one with other content another id.
 */
function webhookId(orderId: string, sequence: number, body: string): string {
  const hex = createHash('sha256').update(`${orderId}:${sequence}:${body}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

/** @param change a status change, so its `from` is not null */
export function toOrderStatusChanged(change: OrderChange, order: OrderBody, sequence: number): OrderStatusChanged {
  return {
    type: 'order.status_changed',
    timestamp: change.at,
    data: {
      order,
      previous_status: change.from ?? change.to,
      event: change.event,
      sequence,
      actor: change.actor,
      reason: change.reason,
    },
  };
}

export function toWebhookTest(seller: { id: string; name: string }, createdAt: string): WebhookTest {
  return {
    type: 'webhook.test',
    timestamp: createdAt,
    data: { seller_id: seller.id, seller_name: seller.name },
  };
}

const IN_WORDS: Record<Exclude<AttemptError, 'http_status' | 'redirect'>, string> = {
  timeout: 'Your server did not answer in time',
  dns: 'The host name cannot be used',
  refused: 'Your server refused the connection',
  reset: 'Your server closed the connection',
  tls: 'The TLS connection failed',
  invalid_url: 'The URL is not allowed',
  no_secret: 'You have no active webhook secret',
  invalid_response: 'The response is not valid HTTP',
  network: 'The connection failed',
};

/** Why an attempt failed, as a sentence; null if it succeeded. */
export function describeFailure({
  status,
  error,
  errorDetail,
}: Pick<AttemptResult, 'status' | 'error' | 'errorDetail'>): string | null {
  if (error === null) return null;
  if (error === 'http_status') return `Your server answered ${status}.`;
  if (error === 'redirect') return `Your server ${errorDetail}.`;
  return `${IN_WORDS[error]}${errorDetail === null ? '' : `: ${errorDetail}`}.`;
}

export function toAttemptFields(result: AttemptResult) {
  return {
    status: result.status,
    error: result.error,
    error_detail: result.errorDetail,
    address: result.address,
    duration_ms: result.durationMs,
    connected_ms: result.connectedMs,
    headers_ms: result.headersMs,
    response_body: result.responseBody,
    static_headers: result.hasStaticHeaders,
  };
}
