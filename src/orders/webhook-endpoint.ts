import { randomUUID } from 'node:crypto';
import { Problem } from '../contracts/problem';
import type { RotatedSecretBody, WebhookTestResult } from '../contracts/webhook-log';
import type { Db } from '../db/pool';
import { rotateWebhookSecret } from '../db/sellers';
import { generateWebhookSecret } from '../webhooks/sign';
import type { OrderDependencies } from './dependencies';

/** Creates a new signing secret for a seller. Older secrets continue to sign during the overlap. */
export async function rotateSecret(db: Db, sellerId: string, overlapSeconds: number): Promise<RotatedSecretBody> {
  const secret = generateWebhookSecret();
  const until = await rotateWebhookSecret(db, sellerId, secret, overlapSeconds * 1000);
  return { webhook_secret: secret, previous_valid_until: until?.toISOString() ?? null };
}

/**
 * Sends a test webhook and returns the result of the attempt.
 * @throws Problem `service_unavailable` if no worker could make the attempt in time
 */
export async function testWebhook(deps: OrderDependencies, sellerId: string, url: string): Promise<WebhookTestResult> {
  const webhookId = randomUUID();
  const attempt = await deps.workflows.testWebhook({ sellerId, webhookId, url }).catch((error: unknown) => {
    throw new Problem('service_unavailable', 'No attempt could be made in time. Repeating the same call is safe.', {
      headers: { 'Retry-After': '5' },
      cause: error,
    });
  });
  return {
    webhook_id: webhookId,
    delivered: attempt.outcome === 'delivered',
    status: attempt.status,
    error: attempt.error,
    error_detail: attempt.errorDetail,
    address: attempt.peerAddress,
    duration_ms: attempt.durationMs,
    connected_ms: attempt.phases.connectedMs,
    headers_ms: attempt.phases.headersMs,
    response_body: attempt.responseBody,
    request_body: attempt.body,
  };
}
