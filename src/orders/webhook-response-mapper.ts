import type { WebhookEventBody } from '../contracts/webhook-response-schemas';
import type { ListedWebhook } from '../db/find-webhooks';

export function toWebhookEventBody(webhook: ListedWebhook): WebhookEventBody {
  return {
    id: webhook.id,
    type: 'order.status_changed',
    order_id: webhook.orderId,
    reference: webhook.reference,
    sequence: webhook.sequence,
    state: webhook.state,
    attempts: webhook.attempts,
    created_at: webhook.createdAt.toISOString(),
    next_attempt_at: webhook.nextAttemptAt?.toISOString() ?? null,
  };
}
