import { z } from 'zod';
import { ATTEMPT_ERRORS, WEBHOOK_STATES } from '../domain/webhook';
import { anyOf, orderId, orderReference, text, timestamp, whole } from './order-schemas';

export const webhookId = z.uuid().meta({ description: 'ID of the webhook, as in its header `webhook-id`' });
export const sequence = whole("Number of the change among the order's status changes, from 1", 1);
export const nextAttempt = timestamp
  .nullable()
  .meta({ description: 'When the next attempt is due; null if none is scheduled' });
export const webhookState = z.enum(WEBHOOK_STATES).meta({
  id: 'WebhookState',
  description:
    'pending: not delivered yet. delivered: the endpoint accepted the webhook. exhausted: given up, because ' +
    'the schedule ended or a later webhook of the order was waiting. disabled: a 410 response disabled the webhooks of the order.',
});

export const webhookEventSchema = z
  .object({
    id: webhookId,
    type: z
      .literal('order.status_changed')
      .meta({ description: 'Type of the webhook', override: { const: undefined } }),
    order_id: orderId,
    reference: orderReference,
    sequence,
    state: webhookState,
    attempts: whole('Number of attempts so far, including resends', 1),
    created_at: timestamp.meta({ description: 'When the webhook was created: when the change was saved' }),
    next_attempt_at: nextAttempt,
  })
  .meta({ id: 'WebhookEvent', description: 'A webhook with its delivery state' });
export type WebhookEventBody = z.infer<typeof webhookEventSchema>;

export const signedWebhookSchema = webhookEventSchema
  .extend({
    request_headers: z
      .record(z.string(), z.string())
      .meta({ description: 'The headers of an attempt now, with its signature', examples: [{ 'webhook-id': 'a' }] }),
    request_body: text('The exact body of every attempt, which the signature covers'),
  })
  .meta({ id: 'SignedWebhook', description: 'A webhook as the service sends it' });
export type SignedWebhookBody = z.infer<typeof signedWebhookSchema>;

export const webhookSelectionSchema = z
  .object({
    state: webhookState.nullable().meta({ description: 'State of the webhooks; null for any' }),
    created_from: timestamp.nullable().meta({ description: 'Time of the oldest webhook; null for any' }),
    created_before: timestamp.meta({ description: 'The webhooks are older than this' }),
  })
  .meta({ id: 'WebhookSelection', description: 'The webhooks that are resent' });
export type WebhookSelectionBody = z.infer<typeof webhookSelectionSchema>;

export const attemptFields = {
  status: whole('HTTP status; null if no response was received', 200).nullable(),
  error: text(`Kind of failure: ${anyOf(ATTEMPT_ERRORS)}; null if the attempt succeeded`).nullable(),
  error_detail: text('Human-readable explanation of the failure').nullable(),
  address: text('IP address of the endpoint').nullable(),
  duration_ms: whole('Duration in milliseconds', 84),
  connected_ms: whole('Milliseconds until DNS, TCP and TLS were complete', 84).nullable(),
  headers_ms: whole('Milliseconds until the response headers were received', 84).nullable(),
  response_body: text('The first KiB of the response body'),
  static_headers: z.boolean().meta({
    description: 'True if the request had your static headers. False if you have none, or they are for another origin.',
  }),
};

export const webhookTestResultSchema = z
  .object({
    webhook_id: webhookId,
    delivered: z.boolean().meta({ description: 'True if the endpoint returned a 2xx status' }),
    ...attemptFields,
    request_body: text('The exact body that was signed and sent'),
  })
  .meta({ id: 'WebhookTestResult', description: 'The result of a test of a webhook endpoint' });
export type WebhookTestResult = z.infer<typeof webhookTestResultSchema>;

export const webhookHeadersSchema = z
  .object({
    origin: text('Origin of the webhook URLs', 'https://shop.example'),
    names: z.array(z.string()).meta({
      description: 'Lower-case names of the headers. Their values are not returned.',
      examples: [['authorization']],
    }),
  })
  .meta({ id: 'WebhookHeaders', description: 'The static headers of your webhooks' });
export type WebhookHeadersBody = z.infer<typeof webhookHeadersSchema>;

export const rotatedSecretSchema = z
  .object({
    webhook_secret: text('The new secret. It is shown only once.', 'whsec_…'),
    previous_valid_until: timestamp
      .nullable()
      .meta({ description: 'Until when older secrets stay active; null if there are none' }),
  })
  .meta({ id: 'RotatedWebhookSecret', description: 'A new webhook secret' });
export type RotatedSecretBody = z.infer<typeof rotatedSecretSchema>;
