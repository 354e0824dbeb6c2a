import { z } from 'zod';
import { WEBHOOK_STATES } from '../domain/webhook';
import { actor, orderId, orderReference, orderStatus, timestamp } from './order-schemas';

const milliseconds = z
  .number()
  .int()
  .meta({ description: 'Milliseconds', examples: [84] });
const webhookId = z.uuid().meta({ description: 'As in the header `webhook-id`' });
const sequence = z
  .number()
  .int()
  .meta({ description: "Place among the order's changes of status", examples: [1] });
const nextAttempt = timestamp.nullable().meta({ description: 'When it is tried next; null where it is not' });
const reason = z.string().nullable().meta({ description: 'Why, where that was said' });
const event = z.string().meta({ description: 'What happened', examples: ['signup_started'] });

export const webhookState = z.enum(WEBHOOK_STATES).meta({
  description:
    'pending: still to be delivered; delivered; exhausted: given up after its last attempt; disabled: a 410 ended it',
});

/** A webhook as the log shows it. */
export const webhookEventSchema = z
  .object({
    id: webhookId,
    type: z.literal('order.status_changed'),
    order_id: orderId,
    reference: orderReference,
    sequence,
    state: webhookState,
    attempts: z
      .number()
      .int()
      .meta({ description: 'How often it was sent, resends counted too', examples: [1] }),
    created_at: timestamp.meta({ description: 'When the status changed' }),
    next_attempt_at: nextAttempt,
    resend_requested_at: timestamp.nullable().meta({ description: 'Set while a resend is still to be made' }),
  })
  .meta({ id: 'WebhookEvent', description: "A webhook in the seller's log" });
export type WebhookEventBody = z.infer<typeof webhookEventSchema>;

const attemptFields = {
  status: z
    .number()
    .int()
    .nullable()
    .meta({ description: 'HTTP status; null where no answer came', examples: [200] }),
  error: z.string().nullable().meta({ description: 'Class of the failure: http_status, timeout, dns, tls, …' }),
  error_detail: z.string().nullable().meta({ description: 'The failure in words' }),
  address: z.string().nullable().meta({ description: 'IP address connected to' }),
  duration_ms: milliseconds,
  connected_ms: milliseconds.nullable().meta({ description: 'Until name, connection and TLS were done' }),
  headers_ms: milliseconds.nullable().meta({ description: 'Until the headers of the answer were in' }),
  response_body: z.string().meta({ description: 'The first KiB of the answer' }),
};

/** A change, as the timeline shows it, and the webhook that tells of it. */
const changeEntrySchema = z.object({
  type: z.literal('change'),
  at: timestamp,
  event,
  from: orderStatus.nullable().meta({ description: 'The status before; null where the order was created' }),
  to: orderStatus,
  actor,
  reason,
  version: z.number().int().meta({ description: 'Counts the changes of the order, from 1' }),
  webhook: z
    .object({ id: webhookId, sequence, state: webhookState, next_attempt_at: nextAttempt })
    .nullable()
    .meta({ description: 'The webhook that tells of it, if one does' }),
});

/** Something that was asked for by a signal and refused. */
const refusalEntrySchema = z.object({
  type: z.literal('refusal'),
  at: timestamp,
  event,
  order_status: orderStatus,
  actor,
  reason,
});

const attemptEntrySchema = z.object({
  type: z.literal('webhook_attempt'),
  at: timestamp,
  webhook_id: webhookId,
  sequence,
  attempt: z.number().int().meta({ description: 'From 1, resends counted too' }),
  resend: z.boolean().meta({ description: 'Asked for by hand, beside the schedule' }),
  ...attemptFields,
  next_attempt_at: nextAttempt,
});

export const timelineEntrySchema = z
  .discriminatedUnion('type', [changeEntrySchema, refusalEntrySchema, attemptEntrySchema])
  .meta({ id: 'TimelineEntry', description: 'A change, a refused change or an attempt to send a webhook' });
export type TimelineEntryBody = z.infer<typeof timelineEntrySchema>;

/** What a test webhook met. */
export const webhookTestResultSchema = z
  .object({
    webhook_id: webhookId,
    delivered: z.boolean().meta({ description: 'Whether the answer was 2xx' }),
    ...attemptFields,
    request_body: z.string().meta({ description: 'The exact text that was signed and sent' }),
  })
  .meta({ id: 'WebhookTestResult', description: 'What a test webhook met' });
export type WebhookTestResult = z.infer<typeof webhookTestResultSchema>;

/** A secret, shown this once. */
export const rotatedSecretSchema = z
  .object({
    webhook_secret: z.string().meta({ description: 'Shown this once', examples: ['whsec_…'] }),
    previous_valid_until: timestamp.nullable().meta({ description: 'Until then older secrets sign too' }),
  })
  .meta({ id: 'RotatedWebhookSecret', description: 'A new signing secret' });
export type RotatedSecretBody = z.infer<typeof rotatedSecretSchema>;
