import { z } from 'zod';
import { type OrderRules, optional, webhookUrl } from './fields';
import { CURSOR, NO_CURSOR, pageQuery, uuidCursor } from './page-query';
import { webhookState } from './webhook-log-schemas';

const DAY_SECONDS = 86_400;

/** The body of the rotate call; none at all will do. */
export const rotateSecretRequestSchema = z.strictObject({
  data: z.strictObject({
    overlap_seconds: optional(
      z
        .number()
        .int('must be a whole number')
        .min(0, 'must be 0 or more')
        .max(7 * DAY_SECONDS, `must be at most ${7 * DAY_SECONDS} (7 days)`),
    ).meta({ description: 'How long older secrets sign too; 86400 (24 hours) unless said' }),
  }),
});
export const DEFAULT_OVERLAP_SECONDS = DAY_SECONDS;

/** The body of the call that sends a test webhook. */
export function webhookTestRequestSchema(rules: OrderRules) {
  const url = webhookUrl(rules).meta({ description: 'Where to send it', examples: ['https://shop.example/hooks'] });
  return z.strictObject({ data: z.strictObject({ url }) });
}

export const webhookListQuerySchema = z.strictObject({
  ...pageQuery,
  cursor: uuidCursor,
  state: webhookState.optional().meta({ description: 'Those in this state only', examples: ['exhausted'] }),
});

export const timelineQuerySchema = z.strictObject({
  ...pageQuery,
  cursor: z
    .string()
    .regex(/^\d{1,18}$/, NO_CURSOR)
    .optional()
    .meta(CURSOR),
});
