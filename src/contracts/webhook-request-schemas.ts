import { z } from 'zod';
import { type OrderRules, optional, refuse, webhookUrl } from './fields';
import { CURSOR, NO_CURSOR, moment, pageQuery, time, uuidCursor } from './page-query';
import { webhookState } from './webhook-response-schemas';

const DAY_SECONDS = 86_400;
export const DEFAULT_OVERLAP_SECONDS = DAY_SECONDS;
export const MAX_OVERLAP_SECONDS = 7 * DAY_SECONDS;

/** The body of a rotate request. The whole body is optional. */
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

export function webhookTestRequestSchema(rules: OrderRules) {
  const url = webhookUrl(rules).meta({ description: 'Endpoint to test', examples: ['https://shop.example/hooks'] });
  return z.strictObject({ data: z.strictObject({ url }) });
}

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

/** The body of a resend of many. */
export const resendWebhooksRequestSchema = z.strictObject({
  data: z
    .strictObject({
      state: optional(webhookState).meta({ description: 'Only webhooks in this state. Default: any.' }),
      created_from: optional(time()).meta({
        description: 'Only webhooks created at this time or later. ISO 8601.',
        examples: ['2026-11-21T09:00:00Z'],
      }),
      created_before: optional(time()).meta({
        description: 'Only webhooks created before this time. Default: the time of the call.',
      }),
    })
    .superRefine(({ state, created_from: from }, context) => {
      if (state === undefined && from === undefined) refuse(context, 'required', 'must have state or created_from');
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
