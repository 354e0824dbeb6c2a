import { z } from 'zod';
import { actor, orderSchema, orderStatus, timestamp } from './order-schemas';

/** The body of an `order.status_changed` webhook. */
export const orderStatusChangedSchema = z
  .object({
    type: z.literal('order.status_changed'),
    timestamp: timestamp.meta({ description: 'When the status changed' }),
    data: z.object({
      order: orderSchema.meta({ description: 'The order as that change left it' }),
      previous_status: orderStatus,
      sequence: z
        .number()
        .int()
        .min(1)
        .meta({ description: 'Place among the changes of status of this order: 1, 2, 3 without a gap', examples: [2] }),
      actor,
      reason: z.string().nullable().meta({ description: 'Why, where that was said' }),
    }),
  })
  .meta({ id: 'OrderStatusChanged', description: 'An order has changed its status' });
export type OrderStatusChanged = z.infer<typeof orderStatusChangedSchema>;

/** The body of a `webhook.test` webhook. */
export const webhookTestSchema = z
  .object({
    type: z.literal('webhook.test'),
    timestamp: timestamp.meta({ description: 'When it was made' }),
    data: z.object({
      seller_id: z.uuid().meta({ description: 'Whose endpoint is tried' }),
      seller_name: z.string().meta({ examples: ['My shop'] }),
    }),
  })
  .meta({ id: 'WebhookTest', description: 'A seller tries an endpoint' });
export type WebhookTest = z.infer<typeof webhookTestSchema>;
