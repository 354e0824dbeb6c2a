import type { TimelineEntryBody, WebhookEventBody } from '../contracts/webhook-response-schemas';
import type { ListedWebhook } from '../db/find-webhooks';
import type { TimelineEntry } from '../db/read-timeline';
import { RECOVERY_EVENT, WEBHOOK_WAIT_EVENT } from '../db/timeline-notes';

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
    resend_requested_at: webhook.resendRequestedAt?.toISOString() ?? null,
  };
}

export function toTimelineEntryBody({ at: date, changeOrNote, webhook, attempt }: TimelineEntry): TimelineEntryBody {
  const at = date.toISOString();
  if (attempt && webhook) {
    return {
      type: 'webhook_attempt',
      at,
      webhook_id: webhook.id,
      sequence: webhook.sequence,
      attempt: attempt.attempt,
      resend: attempt.step === null,
      status: attempt.status,
      error: attempt.error,
      error_detail: attempt.errorDetail,
      address: attempt.address,
      duration_ms: attempt.durationMs,
      connected_ms: attempt.connectedMs,
      headers_ms: attempt.headersMs,
      response_body: attempt.responseBody,
      next_attempt_at: toIso(attempt.nextAttemptAt),
    };
  }
  if (!changeOrNote) throw new Error('a timeline entry is no change, note or attempt');
  const { version, event, from, to, actor, channel, reason } = changeOrNote;
  if (event === WEBHOOK_WAIT_EVENT) return { type: 'webhook_wait', at, order_status: to, reason: reason ?? '' };
  if (event === RECOVERY_EVENT) return { type: 'recovery', at, order_status: to, channel, reason: reason ?? '' };
  if (version === null) return { type: 'refusal', at, event, order_status: to, actor, channel, reason };
  return {
    type: 'change',
    at,
    event,
    from,
    to,
    actor,
    channel,
    reason,
    version,
    webhook: webhook && {
      id: webhook.id,
      sequence: webhook.sequence,
      state: webhook.state,
      next_attempt_at: toIso(webhook.nextAttemptAt),
    },
  };
}

/** Postgres writes times into JSON in its own time zone. */
function toIso(time: string | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
