import { z } from 'zod';
import { ATTEMPT_ERRORS, WEBHOOK_STATES, ENDPOINT_STATES } from '../domain/webhook';
import {
  anyOf,
  orderId,
  orderReference,
  text,
  timestamp,
  whole,
  actor,
  channel,
  orderStatus,
  paymentTerm,
  openEnum,
  orderSchema,
  sellerSchema,
} from './order-schemas';
import { ORDER_EVENTS } from '../domain/order';

export const webhookId = z.uuid().meta({
  description: 'ID of the webhook, as in its header `webhook-id`',
  examples: ['7d0f3c1e-5b0e-8f6a-a1d3-2f6b7f0c9e11'],
});
const sequence = whole("Number of the change among the order's status changes, from 1", 1);
const nextAttempt = timestamp
  .nullable()
  .meta({ description: 'When the next attempt is due; null if none is scheduled', examples: [null] });
const contentDeletedAt = timestamp.nullable().meta({
  description:
    'When body and attempts were deleted, long after the webhook had ended; null before. It cannot be resent.',
  examples: [null],
});
export const webhookState = z.enum(WEBHOOK_STATES).meta({
  id: 'WebhookState',
  description:
    'pending: not delivered yet. delivered: the endpoint accepted the webhook. exhausted: given up, because ' +
    'the schedule ended or a later webhook of the order was waiting. disabled: not sent, because the URL answered 410, or ' +
    'neither the order nor the account has a URL.',
  examples: ['exhausted'],
});

const reason = z
  .string()
  .nullable()
  .meta({ description: 'Human-readable reason, if given', examples: [null] });
const origin = text('Scheme, host and port of the URL', 'https://shop.example');
const lastError = text(
  'Why the webhook is not delivered: why its last attempt failed, or what it waits for. Null if it is delivered, or its ' +
    'first attempt is due.',
  'Your server answered 503.',
).nullable();

const endpointState = openEnum(
  ENDPOINT_STATES,
  'What the last attempt got: a 2xx (`answering`), another response (`failing`) or none (`not_answering`); null if no ' +
    'attempt is stored. New states may be added.',
  'failing',
);

const webhookEndpointSchema = z
  .object({
    origin,
    state: endpointState.nullable(),
    since: timestamp.nullable().meta({ description: 'When the first attempt began that got the same' }),
    last_error: text('Why the last attempt failed; null if it succeeded', 'Your server answered 503.').nullable(),
    next_probe_at: timestamp.nullable().meta({
      description:
        'Set after five attempts in a row without a response. All webhooks to the endpoint wait then, and from this time on ' +
        'one of them is sent as a probe.',
      examples: [null],
    }),
  })
  .meta({ id: 'WebhookEndpoint', description: 'An endpoint: the origin of your webhook URLs' });
export type WebhookEndpointBody = z.infer<typeof webhookEndpointSchema>;

const url = text(
  'Where the webhook goes now; null if neither the order nor the account has a URL',
  'https://shop.example/hooks',
).nullable();
const delivery = {
  next_attempt_at: nextAttempt,
  last_error: lastError,
  url,
  endpoint: webhookEndpointSchema.nullable().meta({ description: 'The endpoint of `url`; null if that is null' }),
  content_deleted_at: contentDeletedAt,
};

export const webhookEventSchema = z
  .object({
    id: webhookId,
    type: openEnum(['order.status_changed'], 'Type of the webhook', 'order.status_changed'),
    order_id: orderId,
    reference: orderReference,
    sequence,
    state: webhookState,
    attempts: whole('Number of attempts so far, including resends', 10),
    created_at: timestamp.meta({ description: 'When the webhook was created: when the change was saved' }),
    ...delivery,
  })
  .meta({ id: 'WebhookEvent', description: 'A webhook with its delivery state' });
export type WebhookEventBody = z.infer<typeof webhookEventSchema>;

export const signedWebhookSchema = webhookEventSchema
  .extend({
    request_headers: z.record(z.string(), z.string()).meta({
      description: 'The headers of an attempt now, with its signature',
      examples: [{ 'webhook-id': '7d0f3c1e-5b0e-8f6a-a1d3-2f6b7f0c9e11', 'webhook-signature': 'v1,K5oZ…' }],
    }),
    request_body: text(
      'The exact body of every attempt, which the signature covers',
      '{"type":"order.status_changed",…}',
    ),
  })
  .meta({ id: 'SignedWebhook', description: 'A webhook as the service sends it' });
export type SignedWebhookBody = z.infer<typeof signedWebhookSchema>;

export const webhookSelectionSchema = z
  .object({
    state: webhookState.nullable().meta({ description: 'State of the webhooks; null for any' }),
    order_id: orderId.nullable().meta({ description: 'Order of the webhooks; null for any', examples: [null] }),
    created_from: timestamp
      .nullable()
      .meta({ description: 'Time of the oldest webhook; null for any', examples: [null] }),
    created_before: timestamp.meta({ description: 'The webhooks are older than this' }),
  })
  .meta({ id: 'WebhookSelection', description: 'The webhooks that are resent' });
export type WebhookSelectionBody = z.infer<typeof webhookSelectionSchema>;

const attemptFields = {
  status: whole('HTTP status; null if no response was received', 503).nullable(),
  error: text(`Kind of failure: ${anyOf(ATTEMPT_ERRORS)}; null if the attempt succeeded`, 'http_status').nullable(),
  error_detail: text('Human-readable explanation of the failure', 'answered 503').nullable(),
  address: text('IP address of the endpoint', '192.0.2.7').nullable(),
  duration_ms: whole('Duration in milliseconds', 84),
  connected_ms: whole('Milliseconds until DNS, TCP and TLS were complete', 21).nullable(),
  headers_ms: whole('Milliseconds until the response headers were received', 83).nullable(),
  response_body: text('The first KiB of the response body', 'busy'),
  static_headers: z.boolean().meta({
    description: 'True if the request had your static headers. False if you have none, or they are for another origin.',
    examples: [false],
  }),
};

export const webhookTestResultSchema = z
  .object({
    webhook_id: webhookId,
    delivered: z.boolean().meta({ description: 'True if the endpoint returned a 2xx status', examples: [false] }),
    ...attemptFields,
    request_body: text('The exact body that was signed and sent', '{"type":"webhook.test",…}'),
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

export const accountAddressSchema = z
  .object({
    url: text('URL for orders that name none; null if there is none', 'https://shop.example/hooks').nullable(),
    replaces: z.array(z.string()).meta({
      description: 'URLs and origins whose webhooks go to `url` instead',
      examples: [['https://old-shop.example']],
    }),
    endpoints: z.array(webhookEndpointSchema).meta({
      description: 'The endpoints that were called within 30 days, those that do not answer first; at most 20',
    }),
  })
  .meta({ id: 'AccountWebhookEndpoint', description: "The account's own webhook URL" });
export type AccountAddressBody = z.infer<typeof accountAddressSchema>;

export const rotatedSecretSchema = z
  .object({
    webhook_secret: text('The new secret. It is shown only once.', 'whsec_…'),
    previous_valid_until: timestamp
      .nullable()
      .meta({ description: 'Until when older secrets stay active; null if there are none' }),
  })
  .meta({ id: 'RotatedWebhookSecret', description: 'A new webhook secret' });
export type RotatedSecretBody = z.infer<typeof rotatedSecretSchema>;

const EVENTS = `${anyOf(['created', ...ORDER_EVENTS])}. New events may be added.`;
const event = text(`The event that was requested: ${EVENTS}`, 'signup_started');

const timelineWebhook = z
  .object({
    id: webhookId,
    sequence,
    state: webhookState,
    ...delivery,
  })
  .meta({ id: 'TimelineWebhook', description: 'The webhook for a change' });

const changeEntrySchema = z
  .object({
    type: z.literal('change'),
    at: timestamp,
    event: text(`The event that caused the change: ${EVENTS}`, 'signup_started'),
    from: orderStatus
      .nullable()
      .meta({ description: 'Status before the change; null for the creation of the order', examples: ['CREATED'] }),
    to: orderStatus,
    actor,
    channel,
    reason,
    payment_term: paymentTerm.nullable().meta({
      description: 'How the customer pays, if it was reported with the event',
    }),
    version: whole('Number of the change, from 1', 2),
    webhook: timelineWebhook.nullable().meta({ description: 'The webhook for the change; null if there is none' }),
  })
  .meta({ id: 'TimelineChange', description: 'A change' });

const refusalEntrySchema = z
  .object({
    type: z.literal('refusal'),
    at: timestamp,
    event,
    order_status: orderStatus,
    actor,
    channel,
    reason,
  })
  .meta({ id: 'TimelineRefusal', description: 'A refused signal to the workflow' });

const attemptEntrySchema = z
  .object({
    type: z.literal('webhook_attempt'),
    at: timestamp,
    webhook_id: webhookId,
    sequence,
    attempt: whole('Number of the attempt, from 1, including resends', 1),
    resend: z.boolean().meta({
      description: 'True for a requested resend, which is not part of the retry schedule',
      examples: [false],
    }),
    origin: origin.nullable().meta({ description: 'Origin of the URL that was called' }),
    ...attemptFields,
    next_attempt_at: nextAttempt,
  })
  .meta({ id: 'TimelineWebhookAttempt', description: 'An attempt to deliver a webhook' });

export const timelineEntrySchema = z
  .discriminatedUnion('type', [changeEntrySchema, refusalEntrySchema, attemptEntrySchema])
  .meta({
    id: 'TimelineEntry',
    description: 'A change, a refused signal or an attempt to deliver a webhook. These three types are fixed.',
  });
export type TimelineEntryBody = z.infer<typeof timelineEntrySchema>;

export const orderStatusChangedSchema = z
  .object({
    type: z.literal('order.status_changed'),
    timestamp: timestamp.meta({ description: 'When the status changed' }),
    data: z
      .object({
        order: orderSchema.meta({ description: 'The order immediately after the change' }),
        previous_status: orderStatus.meta({ examples: ['CREATED'] }),
        event: openEnum(
          ORDER_EVENTS,
          `What changed the status: ${anyOf(ORDER_EVENTS)}. New events may be added.`,
          'signup_started',
        ),
        sequence: whole("Number of this change among the order's status changes: 1, 2, 3, …", 1).min(1),
        actor,
        reason,
      })
      .meta({ id: 'OrderStatusChangedData' }),
  })
  .meta({ id: 'OrderStatusChanged', description: 'The status of an order changed' });
export type OrderStatusChanged = z.infer<typeof orderStatusChangedSchema>;

export const webhookTestSchema = z
  .object({
    type: z.literal('webhook.test'),
    timestamp: timestamp.meta({ description: 'When the webhook was sent' }),
    data: sellerSchema,
  })
  .meta({ id: 'WebhookTest', description: 'A test of a webhook endpoint' });
export type WebhookTest = z.infer<typeof webhookTestSchema>;
