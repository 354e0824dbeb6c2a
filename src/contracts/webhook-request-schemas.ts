import { z } from 'zod';
import { type OrderRules, optional, webhookUrl } from './fields';
import { CURSOR, NO_CURSOR, moment, pageQuery, uuidCursor } from './page-query';
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

export const timelineQuerySchema = z.strictObject({
  ...pageQuery,
  cursor: z
    .string()
    .regex(/^\d{1,18}$/, NO_CURSOR)
    .optional()
    .meta(CURSOR),
});
