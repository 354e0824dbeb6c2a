import type { ZodOpenApiPathsObject } from 'zod-openapi';
import type { OrderRules } from '../fields';
import {
  rotatedSecretSchema,
  timelineEntrySchema,
  webhookEventSchema,
  webhookTestResultSchema,
} from '../webhook-log-schemas';
import {
  rotateSecretRequestSchema,
  timelineQuerySchema,
  webhookListQuerySchema,
  webhookTestRequestSchema,
} from '../webhook-request-schemas';
import { timeline, webhookEvent, webhookTestResult } from './examples';
import { PATH_IDS, inData, operation, page } from './operation';

const { supplier, order, webhook } = PATH_IDS;

const listWebhooks = operation({
  operationId: 'listWebhooks',
  tag: 'Webhooks',
  summary: "List a seller's webhooks",
  description: 'The newest first, one page at a time; `state=exhausted` shows what was given up.',
  key: 'seller',
  path: supplier,
  query: webhookListQuerySchema,
  answer: {
    status: 200,
    description: 'One page',
    schema: page(webhookEventSchema, webhookEvent.id),
    examples: { onePage: { summary: 'The last page', value: { data: [webhookEvent], next_cursor: null } } },
  },
});

const retrieveTimeline = operation({
  operationId: 'retrieveTimeline',
  tag: 'Webhooks',
  summary: 'Retrieve the timeline of an order',
  description: 'Every change, every refused one and every attempt to send a webhook, the oldest first, in pages.',
  key: 'seller',
  path: order,
  query: timelineQuerySchema,
  answer: {
    status: 200,
    description: 'One page',
    schema: page(timelineEntrySchema, '1042'),
    examples: {
      onePage: {
        summary: 'A change and the first attempt to tell of it',
        value: { data: timeline, next_cursor: '1042' },
      },
    },
  },
});

const resendWebhook = operation({
  operationId: 'resendWebhook',
  tag: 'Webhooks',
  summary: 'Send a webhook once more',
  description:
    'Sends it now, with the same id and body, whatever its state. If it succeeds the webhook is delivered; if it fails ' +
    'everything stays as it was. The timeline of the order shows how it went.',
  key: 'seller',
  path: webhook,
  answer: {
    status: 202,
    description: 'It will be sent; the webhook as it is before that',
    schema: inData(webhookEventSchema),
    examples: {
      exhausted: {
        summary: 'One that was given up',
        value: { data: { ...webhookEvent, resend_requested_at: '2026-11-24T10:00:00.000Z' } },
      },
    },
  },
});

const rotateWebhookSecret = operation({
  operationId: 'rotateWebhookSecret',
  tag: 'Webhooks',
  summary: 'Make a new signing secret',
  description:
    'The older ones go on signing beside it for a while, so that the receiver can change over. Should the answer be ' +
    'lost, rotate again; five secrets can be live.',
  key: 'seller',
  path: supplier,
  body: {
    schema: rotateSecretRequestSchema.meta({ id: 'RotateWebhookSecretRequest' }),
    required: false,
    examples: { oneHour: { summary: 'Older ones for one more hour', value: { data: { overlap_seconds: 3600 } } } },
  },
  answer: {
    status: 200,
    description: 'The new secret, shown this once',
    schema: inData(rotatedSecretSchema),
    examples: {
      rotated: {
        summary: 'A new secret',
        value: {
          data: {
            webhook_secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
            previous_valid_until: '2026-11-22T09:00:00.000Z',
          },
        },
      },
    },
  },
});

function testWebhook(rules: OrderRules) {
  return operation({
    operationId: 'testWebhook',
    tag: 'Webhooks',
    summary: 'Try an endpoint',
    description:
      'Sends a signed `webhook.test` there, from the same machines and by the same rules as every other, and tells what ' +
      'it met. An endpoint that fails is told in a 200.',
    key: 'seller',
    path: supplier,
    body: {
      schema: webhookTestRequestSchema(rules).meta({ id: 'TestWebhookRequest' }),
      required: true,
      examples: { endpoint: { summary: 'An endpoint', value: { data: { url: 'https://shop.example/hooks' } } } },
    },
    answer: {
      status: 200,
      description: 'What it met',
      schema: inData(webhookTestResultSchema),
      examples: { refused: { summary: 'The endpoint answered 503', value: { data: webhookTestResult } } },
    },
  });
}

export function webhookPaths(basePath: string, rules: OrderRules): ZodOpenApiPathsObject {
  return {
    [`${basePath}/order/{order_id}/timeline/`]: { get: retrieveTimeline },
    [`${basePath}/seller/{supplier_uuid}/webhook_event/`]: { get: listWebhooks },
    [`${basePath}/webhook_event/{webhook_id}/resend/`]: { post: resendWebhook },
    [`${basePath}/seller/{supplier_uuid}/webhook_test/`]: { post: testWebhook(rules) },
    [`${basePath}/seller/{supplier_uuid}/webhook_secret/rotate/`]: { post: rotateWebhookSecret },
  };
}
