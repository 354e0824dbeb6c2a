import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi';
import type { OrderRules } from '../fields';
import { portalSessionRequestSchema, portalSessionSchema } from '../portal-schemas';
import {
  timelineEntrySchema,
  accountAddressSchema,
  rotatedSecretSchema,
  signedWebhookSchema,
  webhookEventSchema,
  webhookHeadersSchema,
  webhookId,
  webhookSelectionSchema,
  webhookTestResultSchema,
  orderStatusChangedSchema,
  webhookTestSchema,
} from '../webhook-schemas';
import {
  accountAddressRequestSchema,
  resendWebhooksRequestSchema,
  rotateSecretRequestSchema,
  timelineQuerySchema,
  webhookHeadersRequestSchema,
  webhookListQuerySchema,
  webhookTestRequestSchema,
} from '../webhook-request-schemas';
import { type Operation, exampleOf } from './operation';

export const webhookOperations = (rules: OrderRules): Operation[] =>
  operations(rules).map((operation) => ({ ...operation, tag: 'Webhooks' }));

const operations = (rules: OrderRules): Operation[] => [
  {
    route: 'GET /order/{order_id}/timeline/',
    operationId: 'retrieveTimeline',
    summary: 'Retrieve the timeline of an order',
    description:
      'Lists every change, every refused signal to the workflow and every attempt to deliver a webhook, oldest first. A ' +
      'refused call leaves no entry.',
    query: timelineQuerySchema,
    response: {
      description: 'One page of the timeline',
      data: timelineEntrySchema,
      isList: true,
    },
  },
  {
    route: 'GET /seller/{supplier_uuid}/webhook_event/',
    operationId: 'listWebhooks',
    summary: "List a seller's webhooks",
    description:
      'Lists webhooks, newest first. A `webhook_event` is one webhook with its delivery state. `state=exhausted` lists ' +
      'the webhooks that were given up, because the schedule ended or a later webhook of the order was waiting.',
    query: webhookListQuerySchema,
    response: {
      description: 'One page of webhooks',
      data: webhookEventSchema,
      isList: true,
    },
  },
  {
    route: 'GET /webhook_event/{webhook_id}/',
    operationId: 'retrieveWebhook',
    summary: 'Retrieve a webhook as it is sent',
    description:
      'Returns the exact body and the headers of an attempt now, with a valid signature and without your static headers. ' +
      'The `listen` command of the TypeScript client uses it to forward webhooks to a machine without a public URL.',
    response: {
      description: 'The webhook',
      data: signedWebhookSchema,
    },
    errors: ['webhook_content_deleted'],
  },
  {
    route: 'POST /webhook_event/{webhook_id}/resend/',
    operationId: 'resendWebhook',
    summary: 'Resend a webhook',
    description:
      'Sends the webhook again now, in any state, with the same ID and body. If the attempt succeeds, the webhook ' +
      "becomes `delivered`. If it fails, the webhook's state and schedule do not change, unless it returned 410. The " +
      "order's timeline shows the result. The resend can arrive after a newer webhook: do not apply its status if its " +
      "`sequence` is not higher than the order's highest.",
    response: {
      status: 202,
      description: 'The resend is scheduled. The body is the webhook before it.',
      data: webhookEventSchema,
    },
    errors: ['no_webhook_url', 'webhook_content_deleted'],
  },
  {
    route: 'POST /seller/{supplier_uuid}/webhook_event/resend/',
    operationId: 'resendWebhooks',
    summary: 'Resend many webhooks',
    description:
      'Resends the webhooks in one state, of one order, or created since a time, or by several of these, whose content ' +
      'is not deleted: the oldest first, about four a second, ' +
      'each as by `resendWebhook`. Webhooks created after the call are not included. One such resend of yours runs at a ' +
      'time: until it has ended, another call returns 409 `resend_in_progress`, so that repeating the call is safe.',
    body: {
      schema: resendWebhooksRequestSchema,
      examples: {
        exhausted: ['All exhausted webhooks', { state: 'exhausted' }],
        sinceATime: [
          'All webhooks since a time, for example after a restored backup',
          { created_from: '2026-11-21T09:00:00Z' },
        ],
      },
    },
    response: {
      status: 202,
      description: 'The resends are scheduled. The body is the selection.',
      data: webhookSelectionSchema,
    },
    errors: ['resend_in_progress'],
  },
  {
    route: 'POST /seller/{supplier_uuid}/webhook_test/',
    operationId: 'testEndpoint',
    summary: 'Test an endpoint',
    description:
      'Sends a signed `webhook.test` from the same machines and with the same rules as every other webhook, and ' +
      'returns the result. The status is 200 even if the endpoint fails.',
    body: {
      schema: webhookTestRequestSchema(rules),
      examples: { endpoint: ['An endpoint to test', { url: 'https://shop.example/hooks' }] },
    },
    response: {
      description: 'The result of the test',
      data: webhookTestResultSchema,
    },
  },
  {
    route: 'POST /seller/{supplier_uuid}/portal_session/',
    operationId: 'createPortalSession',
    summary: "Create a link to the seller's page",
    description:
      "Returns a link to your account's page, for a person who is signed in to your back office. It works once, for ten " +
      'minutes; the session then ends after eight hours, after 30 minutes without a click, and when the key of this call ' +
      'is revoked. Redirect the person to it. Do not send it by mail.',
    body: {
      schema: portalSessionRequestSchema,
      optional: true,
      examples: { support: ['A person of your support', { user: 'ada@shop.example', read_only: true }] },
    },
    response: {
      status: 201,
      description: 'The link',
      data: portalSessionSchema,
    },
  },
  {
    route: 'GET /seller/{supplier_uuid}/webhook_endpoint/',
    operationId: 'retrieveWebhookEndpoint',
    summary: "Retrieve the account's webhook endpoint",
    description:
      "Returns the account's own webhook URL, what it replaces, and the state of the endpoints that were called lately.",
    response: {
      description: "The account's webhook endpoint",
      data: accountAddressSchema,
    },
  },
  {
    route: 'PUT /seller/{supplier_uuid}/webhook_endpoint/',
    operationId: 'setWebhookEndpoint',
    summary: "Set the account's webhook endpoint",
    description:
      'Sets the URL to which the webhooks of orders without a `webhook_url` go, and, instead of the addresses in ' +
      '`replaces`, those of orders that name one. Every later attempt uses it, of webhooks that exist already and of ' +
      'resends too; no order is edited. Static headers follow the origin that is really called. The call sends nothing: to ' +
      'send waiting webhooks now, resend those in the state `pending`.',
    body: {
      schema: accountAddressRequestSchema(rules),
      examples: {
        moved: [
          'A shop that has moved',
          { url: 'https://shop.example/hooks', replaces: ['https://old-shop.example', 'https://shop.example/hoks'] },
        ],
        none: ['No URL', { url: null }],
      },
    },
    response: {
      description: 'The endpoint is set',
      data: accountAddressSchema,
    },
  },
  {
    route: 'PUT /seller/{supplier_uuid}/webhook_headers/',
    operationId: 'setWebhookHeaders',
    summary: 'Set static headers',
    description:
      'Sets up to five headers that every webhook to one origin carries, test webhooks included, for example an ' +
      '`Authorization` that your gateway requires. Webhooks to other origins go without them: `static_headers` of an ' +
      'attempt states which. The next attempt uses them. Headers of HTTP and of the service, such as `Host`, ' +
      '`Connection`, `Content-Type`, `User-Agent` or `webhook-id`, cannot be set. The values are stored like the webhook ' +
      'secret, and no call returns them.',
    body: {
      schema: webhookHeadersRequestSchema(rules),
      examples: {
        gateway: [
          'An Authorization header for your gateway',
          { origin: 'https://shop.example', headers: [{ name: 'Authorization', value: 'Bearer of-your-gateway' }] },
        ],
        none: ['No static headers', { origin: 'https://shop.example', headers: [] }],
      },
    },
    response: {
      description: 'The headers are set',
      data: webhookHeadersSchema,
    },
  },
  {
    route: 'POST /seller/{supplier_uuid}/webhook_secret/rotate/',
    operationId: 'rotateWebhookSecret',
    summary: 'Rotate the webhook secret',
    description:
      'Creates a new webhook secret. Older secrets stay active for at most `overlap_seconds`, so that you can update your ' +
      'endpoint. If the response is lost, rotate again. At most five secrets are active: with five, a rotation returns ' +
      '409 `too_many_webhook_secrets` until one of them expires.',
    body: {
      schema: rotateSecretRequestSchema,
      optional: true,
      examples: { oneHour: ['Older secrets stay active for one hour', { overlap_seconds: 3600 }] },
    },
    response: {
      description: 'The new secret. It is shown only once.',
      data: rotatedSecretSchema,
    },
    errors: ['too_many_webhook_secrets'],
  },
];

/** Headers of Standard Webhooks 1.0. */
const webhookHeaders = z.object({
  'webhook-id': webhookId.meta({
    description: 'ID of the webhook, the same for every attempt. Use it to detect duplicates.',
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
): ZodOpenApiOperationObject {
  return {
    operationId,
    // No tags: generators would merge these operations into the class of the operations that have the tag.
    summary,
    description,
    // Webhooks are authenticated by their signature.
    security: [],
    requestParams: { header: webhookHeaders },
    requestBody: { required: true, content: { 'application/json': { schema, example: exampleOf(schema) } } },
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
    ),
  },
  'webhook.test': {
    post: webhook(
      'onWebhookTest',
      'A test of a webhook endpoint',
      'Sent once for each `testEndpoint` request. It belongs to no order and is not repeated.',
      webhookTestSchema,
    ),
  },
};
