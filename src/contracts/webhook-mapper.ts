import type { AttemptError, AttemptResult } from '../domain/webhook';
import type { WebhookTest } from './webhook-schemas';

export function toWebhookTest(test: { sellerId: string; sellerName: string; createdAt: Date }): WebhookTest {
  return {
    type: 'webhook.test',
    timestamp: test.createdAt.toISOString(),
    data: { seller_id: test.sellerId, seller_name: test.sellerName },
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
