import { z } from 'zod';
import {
  type OrderRules,
  optional,
  refuse,
  replacedAddress,
  webhookOrigin,
  webhookUrl,
  CURSOR,
  NO_CURSOR,
  moment,
  pageQuery,
  time,
  uuidCursor,
} from './fields';
import { webhookState } from './webhook-schemas';

const DAY_SECONDS = 86_400;
export const DEFAULT_OVERLAP_SECONDS = DAY_SECONDS;
export const MAX_OVERLAP_SECONDS = 7 * DAY_SECONDS;

/** The whole body is optional. */
export const rotateSecretRequestSchema = z.strictObject({
  data: z.strictObject({
    overlap_seconds: optional(
      z
        .number()
        .int('must be a whole number')
        .min(0, 'must be 0 or more')
        .max(MAX_OVERLAP_SECONDS, `must be at most ${MAX_OVERLAP_SECONDS} (7 days)`),
    ).meta({ description: 'How long older secrets stay active. Default: 86400 (24 hours).' }),
  }),
});

const MAX_STATIC_HEADERS = 5;
/** Headers of HTTP itself, of one connection, or of the service. */
const RESERVED_HEADER =
  /^(host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|http2-settings|expect|content-.*|accept|accept-encoding|user-agent|traceparent|tracestate|webhook-.*|--proto--)$/i;

const staticHeader = z
  .strictObject({
    name: z
      .string()
      .max(64, 'must be at most 64 characters')
      .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, "must contain only letters, digits and !#$%&'*+-.^_`|~")
      // Some receivers read `_` as `-`. `__proto__` is no safe key of an object.
      .refine((name) => !RESERVED_HEADER.test(name.replaceAll('_', '-')), 'is a header of HTTP or of the service')
      .meta({ description: 'Name of the header. Case does not matter.', examples: ['Authorization'] }),
    value: z
      .string()
      .max(2048, 'must be at most 2048 characters')
      .regex(/^[!-~]([ -~]*[!-~])?$/, 'must be printable ASCII without surrounding spaces')
      .meta({ description: 'Value of the header', examples: ['Bearer of-your-gateway'] }),
  })
  .meta({ id: 'StaticHeader', description: 'A header that webhooks to one origin carry' });

export function webhookHeadersRequestSchema(rules: OrderRules) {
  return z.strictObject({
    data: z.strictObject({
      origin: webhookOrigin(rules).meta({
        description:
          'Scheme, host and port of your gateway. Only webhooks to URLs of this origin carry the headers, so that a ' +
          'stolen API key cannot send them elsewhere.',
        examples: ['https://shop.example'],
      }),
      headers: z
        .array(staticHeader)
        .max(MAX_STATIC_HEADERS, `must have at most ${MAX_STATIC_HEADERS} headers`)
        .superRefine((headers, context) => {
          const names = new Set(headers.map(({ name }) => name.toLowerCase()));
          if (names.size < headers.length) refuse(context, 'duplicate_value', 'must have each name once');
        })
        .meta({
          description: 'All static headers. They replace those that were set before; an empty array removes them.',
        }),
    }),
  });
}
export type WebhookHeadersRequest = z.infer<ReturnType<typeof webhookHeadersRequestSchema>>['data'];

export function webhookTestRequestSchema(rules: OrderRules) {
  const url = webhookUrl(rules).meta({ description: 'Endpoint to test', examples: ['https://shop.example/hooks'] });
  return z.strictObject({ data: z.strictObject({ url }) });
}

const MAX_REPLACED = 20;

export function accountAddressRequestSchema(rules: Pick<OrderRules, 'checkWebhookUrl'>) {
  return z.strictObject({
    data: z
      .strictObject({
        url: webhookUrl(rules)
          .nullable()
          .meta({
            description: 'URL for orders that name no `webhook_url`; null: their webhooks are not sent',
            examples: ['https://shop.example/hooks'],
          }),
        replaces: optional(
          z
            .array(replacedAddress)
            .max(MAX_REPLACED, `must have at most ${MAX_REPLACED} entries`)
            .transform((entries) => [...new Set(entries)]),
        ).meta({
          description:
            'Complete URLs, or origins without a trailing slash (`https://old-shop.example`), whose webhooks go to `url` ' +
            'from now on. They replace those that were set before. Default: none.',
          examples: [['https://old-shop.example']],
        }),
      })
      .superRefine(({ url, replaces = [] }, context) => {
        if (url === null && replaces.length > 0) refuse(context, 'required', 'must have a url if it replaces others');
      }),
  });
}
export type AccountAddressRequest = z.infer<ReturnType<typeof accountAddressRequestSchema>>['data'];

export const webhookListQuerySchema = z.strictObject({
  ...pageQuery,
  cursor: uuidCursor,
  state: webhookState.optional().meta({ description: 'Only webhooks in this state', examples: ['exhausted'] }),
  created_from: moment.meta({
    description:
      'Only webhooks created at this time or later. ISO 8601; a date means its start in UTC. To poll, pass the newest ' +
      '`created_at` that you have seen: no webhook is missed.',
  }),
});
export type WebhookListQuery = z.infer<typeof webhookListQuerySchema>;

export const resendWebhooksRequestSchema = z.strictObject({
  data: z
    .strictObject({
      state: optional(webhookState).meta({ description: 'Only webhooks in this state. Default: any.' }),
      order_id: optional(z.guid('must be a UUID')).meta({ description: 'Only webhooks of this order. Default: any.' }),
      created_from: optional(time()).meta({
        description: 'Only webhooks created at this time or later. ISO 8601.',
        examples: ['2026-11-21T09:00:00Z'],
      }),
      created_before: optional(time()).meta({
        description: 'Only webhooks created before this time. Default: the time of the call.',
      }),
    })
    .superRefine(({ state, order_id: order, created_from: from }, context) => {
      if (state ?? order ?? from) return;
      refuse(context, 'required', 'must have state, order_id or created_from');
    }),
});
export type ResendWebhooksRequest = z.infer<typeof resendWebhooksRequestSchema>['data'];

export const timelineQuerySchema = z.strictObject({
  ...pageQuery,
  cursor: z
    .string()
    .regex(/^\d{1,18}$/, NO_CURSOR)
    .optional()
    .meta(CURSOR),
});
