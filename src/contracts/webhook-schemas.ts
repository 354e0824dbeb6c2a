import { z } from 'zod';
import { ORDER_EVENTS, type OrderEvent } from '../domain/status';
import { anyOf, openEnum, actor, orderSchema, orderStatus, sellerSchema, timestamp } from './order-schemas';

const event: z.ZodType<OrderEvent | (string & Record<never, never>)> = openEnum(
  ORDER_EVENTS,
  `What changed the status: ${anyOf(ORDER_EVENTS)}. New events may be added.`,
).meta({ examples: ['approved'] });

export const orderStatusChangedSchema = z
  .object({
    type: z.literal('order.status_changed'),
    timestamp: timestamp.meta({ description: 'When the status changed' }),
    data: z
      .object({
        order: orderSchema.meta({ description: 'The order immediately after the change' }),
        previous_status: orderStatus,
        event,
        sequence: z
          .number()
          .int()
          .min(1)
          .meta({ description: "Number of this change among the order's status changes: 1, 2, 3, …", examples: [2] }),
        actor,
        reason: z.string().nullable().meta({ description: 'Human-readable reason for the change, if given' }),
      })
      .meta({ id: 'OrderStatusChangedData' }),
  })
  .meta({ id: 'OrderStatusChanged', description: 'The status of an order changed' });
export type OrderStatusChanged = z.infer<typeof orderStatusChangedSchema>;

export const webhookTestSchema = z
  .object({
    type: z.literal('webhook.test'),
    timestamp: timestamp.meta({ description: 'When the webhook was sent' }),
    data: sellerSchema,
  })
  .meta({ id: 'WebhookTest', description: 'A test of a webhook endpoint' });
export type WebhookTest = z.infer<typeof webhookTestSchema>;
