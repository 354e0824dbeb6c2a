import type { ZodOpenApiPathsObject } from 'zod-openapi';
import type { OrderRules } from '../fields';
import { timelineEntrySchema } from '../timeline-schemas';
import {
  rotatedSecretSchema,
  signedWebhookSchema,
  webhookEventSchema,
  webhookHeadersSchema,
  webhookSelectionSchema,
  webhookTestResultSchema,
} from '../webhook-response-schemas';
import {
  resendWebhooksRequestSchema,
  rotateSecretRequestSchema,
  timelineQuerySchema,
  webhookHeadersRequestSchema,
  webhookListQuerySchema,
  webhookTestRequestSchema,
} from '../webhook-request-schemas';
import { timeline, webhookEvent, webhookSelection, webhookTestResult, signedWebhook } from './examples';
import { PATH_IDS, inData, operation, page, requestBody } from './operation';

const { seller, order, webhook } = PATH_IDS;

const listWebhooks = operation({
  operationId: 'listWebhooks',
  tag: 'Webhooks',
  summary: "List a seller's webhooks",
  description:
    'Lists webhooks, newest first. A `webhook_event` is one webhook with its delivery state. `state=exhausted` lists ' +
    'the webhooks that were given up, because the schedule ended or a later webhook of the order was waiting.',
  key: 'seller',
  path: seller,
  query: webhookListQuerySchema,
  response: {
    status: 200,
    description: 'One page of webhooks',
    schema: page('WebhookEventListResponse', webhookEventSchema, webhookEvent.id),
    examples: { onePage: { summary: 'The last page', value: { data: [webhookEvent], next_cursor: null } } },
  },
});

const retrieveTimeline = operation({
  operationId: 'retrieveTimeline',
  tag: 'Webhooks',
  summary: 'Retrieve the timeline of an order',
  description:
    'Lists every change, every refused signal to the workflow and every attempt to deliver a webhook, oldest first. A ' +
    'refused call leaves no entry.',
  key: 'seller',
  path: order,
  query: timelineQuerySchema,
  response: {
    status: 200,
    description: 'One page of the timeline',
    schema: page('TimelineEntryListResponse', timelineEntrySchema, '1042'),
    examples: {
      onePage: {
        summary: 'A change and the first attempt to deliver its webhook',
        value: { data: timeline, next_cursor: '1042' },
      },
    },
  },
});

const retrieveWebhook = operation({
  operationId: 'retrieveWebhook',
  tag: 'Webhooks',
  summary: 'Retrieve a webhook as it is sent',
  description:
    'Returns the exact body and the headers of an attempt now, with a valid signature and without your static headers. ' +
    'The `listen` command of the TypeScript client uses it to forward webhooks to a machine without a public URL.',
  key: 'seller',
  path: webhook,
  response: {
    status: 200,
    description: 'The webhook',
    schema: inData(signedWebhookSchema),
    examples: { signed: { summary: 'A webhook with its signature', value: { data: signedWebhook } } },
  },
});

const resendWebhook = operation({
  operationId: 'resendWebhook',
  tag: 'Webhooks',
  summary: 'Resend a webhook',
  description:
    'Sends the webhook again now, in any state, with the same ID and body. If the attempt succeeds, the webhook ' +
    "becomes `delivered`. If it fails, the webhook's state and schedule do not change, unless it returned 410. The " +
    "order's timeline shows the result. The resend can arrive after a newer webhook: do not apply its status if its " +
    "`sequence` is not higher than the order's highest.",
  key: 'seller',
  path: webhook,
  response: {
    status: 202,
    description: 'The resend is scheduled. The body is the webhook before it.',
    schema: inData(webhookEventSchema),
    examples: {
      exhausted: {
        summary: 'An exhausted webhook',
        value: { data: webhookEvent },
      },
    },
  },
});

const resendWebhooks = operation({
  operationId: 'resendWebhooks',
  tag: 'Webhooks',
  summary: 'Resend many webhooks',
  description:
    'Resends the webhooks in one state, or those created since a time, or both: the oldest first, about four a second, ' +
    'each as by `resendWebhook`. Webhooks created after the call are not included. One such resend of yours runs at a ' +
    'time: until it has ended, another call returns 409 `resend_in_progress`, so that repeating the call is safe.',
  key: 'seller',
  path: seller,
  body: {
    schema: requestBody('ResendWebhooksRequest', resendWebhooksRequestSchema),
    required: true,
    examples: {
      exhausted: { summary: 'All exhausted webhooks', value: { data: { state: 'exhausted' } } },
      sinceATime: {
        summary: 'All webhooks since a time, for example after a restored backup',
        value: { data: { created_from: '2026-11-21T09:00:00Z' } },
      },
    },
  },
  response: {
    status: 202,
    description: 'The resends are scheduled. The body is the selection.',
    schema: inData(webhookSelectionSchema),
    examples: { exhausted: { summary: 'All exhausted webhooks', value: { data: webhookSelection } } },
  },
  errors: ['resend_in_progress'],
});

const rotateWebhookSecret = operation({
  operationId: 'rotateWebhookSecret',
  tag: 'Webhooks',
  summary: 'Rotate the webhook secret',
  description:
    'Creates a new webhook secret. Older secrets stay active for at most `overlap_seconds`, so that you can update your ' +
    'endpoint. If the response is lost, rotate again. At most five secrets are active: with five, a rotation returns ' +
    '409 `too_many_webhook_secrets` until one of them expires.',
  key: 'seller',
  path: seller,
  body: {
    schema: requestBody('RotateWebhookSecretRequest', rotateSecretRequestSchema),
    required: false,
    examples: {
      oneHour: { summary: 'Older secrets stay active for one hour', value: { data: { overlap_seconds: 3600 } } },
    },
  },
  response: {
    status: 200,
    description: 'The new secret. It is shown only once.',
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
  errors: ['too_many_webhook_secrets'],
});

function setWebhookHeaders(rules: OrderRules) {
  return operation({
    operationId: 'setWebhookHeaders',
    tag: 'Webhooks',
    summary: 'Set static headers',
    description:
      'Sets up to five headers that every webhook to one origin carries, test webhooks included, for example an ' +
      '`Authorization` that your gateway requires. Webhooks to other origins go without them: `static_headers` of an ' +
      'attempt states which. The next attempt uses them. Headers of HTTP and of the service, such as `Host`, ' +
      '`Connection`, `Content-Type`, `User-Agent` or `webhook-id`, cannot be set. The values are stored like the webhook ' +
      'secret, and no call returns them.',
    key: 'seller',
    path: seller,
    body: {
      schema: requestBody('SetWebhookHeadersRequest', webhookHeadersRequestSchema(rules)),
      required: true,
      examples: {
        gateway: {
          summary: 'An Authorization header for your gateway',
          value: {
            data: {
              origin: 'https://shop.example',
              headers: [{ name: 'Authorization', value: 'Bearer of-your-gateway' }],
            },
          },
        },
        none: { summary: 'No static headers', value: { data: { origin: 'https://shop.example', headers: [] } } },
      },
    },
    response: {
      status: 200,
      description: 'The headers are set',
      schema: inData(webhookHeadersSchema),
      examples: {
        gateway: {
          summary: 'One header is set',
          value: { data: { origin: 'https://shop.example', names: ['authorization'] } },
        },
      },
    },
  });
}

function testEndpoint(rules: OrderRules) {
  return operation({
    operationId: 'testEndpoint',
    tag: 'Webhooks',
    summary: 'Test an endpoint',
    description:
      'Sends a signed `webhook.test` from the same machines and with the same rules as every other webhook, and ' +
      'returns the result. The status is 200 even if the endpoint fails.',
    key: 'seller',
    path: seller,
    body: {
      schema: requestBody('TestEndpointRequest', webhookTestRequestSchema(rules)),
      required: true,
      examples: {
        endpoint: { summary: 'An endpoint to test', value: { data: { url: 'https://shop.example/hooks' } } },
      },
    },
    response: {
      status: 200,
      description: 'The result of the test',
      schema: inData(webhookTestResultSchema),
      examples: { failed: { summary: 'The endpoint answered 503', value: { data: webhookTestResult } } },
    },
  });
}

export function webhookPaths(basePath: string, rules: OrderRules): ZodOpenApiPathsObject {
  return {
    [`${basePath}/order/{order_id}/timeline/`]: { get: retrieveTimeline },
    [`${basePath}/seller/{supplier_uuid}/webhook_event/`]: { get: listWebhooks },
    [`${basePath}/webhook_event/{webhook_id}/`]: { get: retrieveWebhook },
    [`${basePath}/webhook_event/{webhook_id}/resend/`]: { post: resendWebhook },
    [`${basePath}/seller/{supplier_uuid}/webhook_event/resend/`]: { post: resendWebhooks },
    [`${basePath}/seller/{supplier_uuid}/webhook_test/`]: { post: testEndpoint(rules) },
    [`${basePath}/seller/{supplier_uuid}/webhook_headers/`]: { put: setWebhookHeaders(rules) },
    [`${basePath}/seller/{supplier_uuid}/webhook_secret/rotate/`]: { post: rotateWebhookSecret },
  };
}
