import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi';
import { orderStatusChangedSchema, webhookTestSchema } from '../webhook-schemas';
import { approvedOrder, webhookEvent } from './examples';

/** Standard Webhooks 1.0. */
const webhookHeaders = z.object({
  'webhook-id': z
    .uuid()
    .meta({ description: 'The webhook; the same however often it is sent: dedupe by it', examples: [webhookEvent.id] }),
  'webhook-timestamp': z.string().meta({
    description: 'Unix seconds of this attempt; refuse one more than five minutes off',
    examples: ['1795251600'],
    pattern: String.raw`^\d+$`,
  }),
  'webhook-signature': z.string().meta({
    description:
      'HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>`, one `v1,<base64>` for each live secret, with blanks between',
    examples: ['v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4='],
    pattern: '^v1,[A-Za-z0-9+/]+=*( v1,[A-Za-z0-9+/]+=*)*$',
  }),
  'User-Agent': z.string().meta({ description: 'Who sends it', examples: ['order-service-webhooks/1'] }),
});

const RETRY_AFTER = {
  'Retry-After': {
    description: 'Seconds or a date: the next attempt comes no sooner',
    schema: { type: 'string' as const },
  },
};

function webhook(
  operationId: string,
  summary: string,
  description: string,
  schema: z.ZodType,
  example: unknown,
): ZodOpenApiOperationObject {
  return {
    operationId,
    tags: ['Webhooks'],
    summary,
    description,
    // Not by a key: by its signature.
    security: [],
    requestParams: { header: webhookHeaders },
    requestBody: { required: true, content: { 'application/json': { schema, example } } },
    responses: {
      '2XX': { description: 'Taken. Answer within 15 seconds; do the work afterwards' },
      '410': { description: 'Nothing more is to be sent for this order' },
      '429': { description: 'Come back later', headers: RETRY_AFTER },
      '503': { description: 'Come back later', headers: RETRY_AFTER },
      default: { description: 'A failure, redirects too: tried again, ten times over three days' },
    },
  };
}

export const WEBHOOKS: ZodOpenApiPathsObject = {
  'order.status_changed': {
    post: webhook(
      'orderStatusChanged',
      'The status of an order has changed',
      'Sent to the `webhook_url` of the order for each change after CREATED: in order, one at a time, at least once, the ' +
        'same bytes each time. A gap in `sequence` means that one was given up; it can be resent.',
      orderStatusChangedSchema,
      {
        type: 'order.status_changed',
        timestamp: '2026-11-21T09:00:00.000Z',
        data: { order: approvedOrder, previous_status: 'PENDING', sequence: 2, actor: 'checkout', reason: null },
      },
    ),
  },
  'webhook.test': {
    post: webhook(
      'webhookTest',
      'A seller tries an endpoint',
      'Sent once, when `testWebhook` is called.',
      webhookTestSchema,
      {
        type: 'webhook.test',
        timestamp: '2026-11-21T09:00:00.000Z',
        data: { seller_id: 'c0a8012e-1d5f-4b7a-8f3e-6a2b9d4c5e70', seller_name: 'My shop' },
      },
    ),
  },
};
