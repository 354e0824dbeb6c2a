import { randomUUID } from 'node:crypto';
import { Problem } from '../contracts/problem';
import type { RotatedSecretBody, WebhookTestResult } from '../contracts/webhook-response-schemas';
import type { Db } from '../db/pool';
import { MAX_ACTIVE_SECRETS, rotateWebhookSecret } from '../db/secrets';
import type { KeyRing } from '../encryption/key-ring';
import { generateWebhookSecret } from '../webhooks/sign';
import type { OrderDependencies } from './dependencies';
import { notFound } from './not-found';

/**
 * Creates a new signing secret for a seller. Older secrets continue to sign during the overlap.
 * @throws Problem `too_many_webhook_secrets`
 */
export async function rotateSecret(
  { db, keys }: { db: Db; keys: KeyRing },
  sellerId: string,
  overlapSeconds: number,
): Promise<RotatedSecretBody> {
  const secret = generateWebhookSecret();
  const rotation = await rotateWebhookSecret(db, keys, sellerId, secret, overlapSeconds * 1000);
  if (!rotation) throw notFound();
  if (rotation.kind === 'too_many') throw tooManySecrets(rotation.possibleAt);
  return { webhook_secret: secret, previous_valid_until: rotation.previousValidUntil?.toISOString() ?? null };
}

function tooManySecrets(possibleAt: Date): Problem {
  const detail =
    `${MAX_ACTIVE_SECRETS} webhook secrets are active, the maximum. The first one ends at ${possibleAt.toISOString()}; ` +
    'rotate again then. To end all older secrets immediately instead, rotate without an overlap.';
  const retryAfterS = Math.max(1, Math.ceil((possibleAt.getTime() - Date.now()) / 1000));
  return new Problem('too_many_webhook_secrets', detail, { retryAfterS });
}

/**
 * Sends a test webhook and returns the result of the attempt.
 * @throws Problem `service_unavailable` if no worker could make the attempt in time
 */
export async function testWebhook(deps: OrderDependencies, sellerId: string, url: string): Promise<WebhookTestResult> {
  const webhookId = randomUUID();
  const attempt = await deps.workflows.testWebhook({ sellerId, webhookId, url }).catch((error: unknown) => {
    throw new Problem('service_unavailable', 'No attempt could be made in time. Repeating the same call is safe.', {
      retryAfterS: 5,
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
