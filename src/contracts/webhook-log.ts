import { z } from 'zod';
import { ACTORS, ORDER_STATUSES } from '../domain/status';
import { pageQuery, uuidCursor } from './page';
import type { OrderRules } from './requests';
import { optional, webhookUrl } from './requests';

const timestamp = z.iso.datetime().meta({ description: 'ISO 8601, UTC' });
const milliseconds = z.number().int().meta({ description: 'Milliseconds' });

export const WEBHOOK_STATES = ['pending', 'delivered', 'exhausted', 'disabled'] as const;
export type WebhookState = (typeof WEBHOOK_STATES)[number];

const state = z.enum(WEBHOOK_STATES).meta({
  description:
    'pending: still to be delivered; delivered; exhausted: given up after its last attempt; disabled: a 410 ended it',
});

/** A webhook as the log shows it. */
export const webhookEventSchema = z
  .object({
    id: z.uuid().meta({ description: 'As in the header `webhook-id`' }),
    type: z.literal('order.status_changed'),
    order_id: z.uuidv4(),
    reference: z.string(),
    sequence: z.number().int(),
    state,
    attempts: z.number().int(),
    created_at: timestamp,
    next_attempt_at: timestamp.nullable(),
    resend_requested_at: timestamp.nullable(),
  })
  .meta({ id: 'WebhookEvent' });
export type WebhookEventBody = z.infer<typeof webhookEventSchema>;

const attemptFields = {
  status: z.number().int().nullable().meta({ description: 'HTTP status; null where no answer came' }),
  error: z.string().nullable().meta({ description: 'Class of the failure: http_status, timeout, dns, tls, …' }),
  error_detail: z.string().nullable(),
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
  event: z.string(),
  from: z.enum(ORDER_STATUSES).nullable(),
  to: z.enum(ORDER_STATUSES),
  actor: z.enum(ACTORS),
  reason: z.string().nullable(),
  version: z.number().int(),
  webhook: z
    .object({ id: z.uuid(), sequence: z.number().int(), state, next_attempt_at: timestamp.nullable() })
    .nullable(),
});

/** Something that was asked for by a signal and refused. */
const refusalEntrySchema = z.object({
  type: z.literal('refusal'),
  at: timestamp,
  event: z.string(),
  order_status: z.enum(ORDER_STATUSES),
  actor: z.enum(ACTORS),
  reason: z.string().nullable(),
});

const attemptEntrySchema = z.object({
  type: z.literal('webhook_attempt'),
  at: timestamp,
  webhook_id: z.uuid(),
  sequence: z.number().int(),
  attempt: z.number().int().meta({ description: 'From 1, resends counted too' }),
  resend: z.boolean(),
  ...attemptFields,
  next_attempt_at: timestamp.nullable(),
});

export const timelineEntrySchema = z
  .discriminatedUnion('type', [changeEntrySchema, refusalEntrySchema, attemptEntrySchema])
  .meta({ id: 'TimelineEntry' });
export type TimelineEntryBody = z.infer<typeof timelineEntrySchema>;

/** What a test webhook met. */
export const webhookTestResultSchema = z
  .object({
    webhook_id: z.uuid(),
    delivered: z.boolean(),
    ...attemptFields,
    request_body: z.string().meta({ description: 'The exact text that was signed and sent' }),
  })
  .meta({ id: 'WebhookTestResult' });
export type WebhookTestResult = z.infer<typeof webhookTestResultSchema>;

/** A secret, shown this once. */
export const rotatedSecretSchema = z
  .object({
    webhook_secret: z.string(),
    previous_valid_until: timestamp.nullable().meta({ description: 'Until then older secrets sign too' }),
  })
  .meta({ id: 'RotatedWebhookSecret' });
export type RotatedSecretBody = z.infer<typeof rotatedSecretSchema>;

const DAY_SECONDS = 86_400;

/** The body of the rotate call; none at all will do. */
export const rotateSecretRequestSchema = z.strictObject({
  data: z.strictObject({
    overlap_seconds: optional(
      z
        .number()
        .int('must be a whole number')
        .min(0, 'must be 0 or more')
        .max(7 * DAY_SECONDS, `must be at most ${7 * DAY_SECONDS} (7 days)`),
    ),
  }),
});
export const STANDARD_OVERLAP_SECONDS = DAY_SECONDS;

/** The body of the call that sends a test webhook. */
export function webhookTestRequestSchema(rules: OrderRules) {
  return z.strictObject({ data: z.strictObject({ url: webhookUrl(rules) }) });
}

export const webhookListQuerySchema = z.strictObject({
  ...pageQuery,
  cursor: uuidCursor,
  state: z.enum(WEBHOOK_STATES).optional(),
});

export const timelineQuerySchema = z.strictObject({
  ...pageQuery,
  cursor: z
    .string()
    .regex(/^\d{1,18}$/, 'must be the next_cursor of an earlier page')
    .optional(),
});
