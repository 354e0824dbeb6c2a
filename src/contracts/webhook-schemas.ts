import { z } from 'zod';
import { ORDER_EVENTS } from '../domain/status';
import {
  anyOf,
  openEnum,
  actor,
  orderSchema,
  orderStatus,
  sellerSchema,
  text,
  timestamp,
  whole,
} from './order-schemas';

const event = openEnum(
  ORDER_EVENTS,
  `What changed the status: ${anyOf(ORDER_EVENTS)}. New events may be added.`,
  'approved',
);

export const orderStatusChangedSchema = z
  .object({
    type: z.literal('order.status_changed'),
    timestamp: timestamp.meta({ description: 'When the status changed' }),
    data: z
      .object({
        order: orderSchema.meta({ description: 'The order immediately after the change' }),
        previous_status: orderStatus,
        event,
        sequence: whole("Number of this change among the order's status changes: 1, 2, 3, …", 2).min(1),
        actor,
        reason: text('Human-readable reason for the change, if given').nullable(),
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
