import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi';
import { orderStatusChangedSchema, webhookTestSchema } from '../webhook-schemas';
import { approvedOrder, testWebhook, webhookEvent } from './examples';

/** Headers of Standard Webhooks 1.0. */
const webhookHeaders = z.object({
  'webhook-id': z.uuid().meta({
    description: 'ID of the webhook, the same for every attempt. Use it to detect duplicates.',
    examples: [webhookEvent.id],
  }),
  'webhook-timestamp': z.string().meta({
    description: 'Time of this attempt in Unix seconds. Reject a difference of more than five minutes.',
    examples: ['1795251600'],
    pattern: String.raw`^\d+$`,
  }),
  'webhook-signature': z.string().meta({
    description:
      'HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>`: one `v1,<base64>` for each active secret, separated ' +
      'by spaces',
    examples: ['v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4='],
    pattern: '^v1,[A-Za-z0-9+/]+=*( v1,[A-Za-z0-9+/]+=*)*$',
  }),
  traceparent: z.string().optional().meta({ description: 'W3C Trace Context of the request that made the change' }),
  'Accept-Encoding': z.string().meta({ description: 'The response is logged as it arrives', examples: ['identity'] }),
  'User-Agent': z.string().meta({ description: 'The sender', examples: ['order-service-webhooks/1'] }),
});

const RETRY_AFTER = {
  'Retry-After': {
    description: 'Requested wait before the next attempt, in seconds or as an HTTP date',
    schema: { type: 'string' as const },
  },
};

const RETRY_LATER = {
  description:
    'A failure. The schedule makes no attempt before `Retry-After`, up to 24 hours, or up to one hour if a later webhook ' +
    'of the order is waiting. A requested resend ignores it.',
  headers: RETRY_AFTER,
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
    // No tags: generators would merge these operations into the class of the operations that have the tag.
    summary,
    description,
    // Webhooks are authenticated by their signature.
    security: [],
    requestParams: { header: webhookHeaders },
    requestBody: { required: true, content: { 'application/json': { schema, example } } },
    responses: {
      '2XX': { description: 'Accepted. Respond within 15 seconds and process the webhook afterwards.' },
      '410': {
        description: 'Disables the webhooks of this order: none is sent until a resend of one of them succeeds.',
      },
      '429': RETRY_LATER,
      '503': RETRY_LATER,
      default: {
        description:
          'A failure. Redirects are not followed. Up to ten attempts are made over about three days, or five if a ' +
          'later webhook of the order is waiting.',
      },
    },
  };
}

export const WEBHOOKS: ZodOpenApiPathsObject = {
  'order.status_changed': {
    post: webhook(
      'onOrderStatusChanged',
      'The status of an order changed',
      'Sent to the `webhook_url` of the order for each status change after CREATED. Webhooks of one order are sent ' +
        'in order, one at a time, at least once. Every attempt has the same body. A resend ignores the order: it can ' +
        'arrive after a newer webhook. So process each `webhook-id` once, and do not apply the status of a webhook whose ' +
        '`sequence` is not higher than the highest of the order so far. A gap in `sequence` means that a webhook was given ' +
        'up or disabled. You need not wait for it: the newer webhook has the current state.',
      orderStatusChangedSchema,
      {
        type: 'order.status_changed',
        timestamp: '2026-11-21T09:00:00.000Z',
        data: {
          order: approvedOrder,
          previous_status: 'PENDING',
          event: 'approved',
          sequence: 2,
          actor: 'checkout',
          reason: null,
        },
      },
    ),
  },
  'webhook.test': {
    post: webhook(
      'onWebhookTest',
      'A test of a webhook endpoint',
      'Sent once for each `testEndpoint` request. It belongs to no order and is not repeated.',
      webhookTestSchema,
      testWebhook,
    ),
  },
};
