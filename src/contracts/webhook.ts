import { z } from 'zod';
import type { OrderChange } from '../domain/order';
import type { OrderBody } from './order';
import { actor, orderSchema, orderStatus, timestamp } from './order';

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

/** @param change a change of status: its `from` is not null */
export function toOrderStatusChanged(change: OrderChange, order: OrderBody, sequence: number): OrderStatusChanged {
  return {
    type: 'order.status_changed',
    timestamp: change.at,
    data: {
      order,
      previous_status: change.from ?? change.to,
      sequence,
      actor: change.actor,
      reason: change.reason,
    },
  };
}

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

export function toWebhookTest(seller: { id: string; name: string }, at: Date): WebhookTest {
  return {
    type: 'webhook.test',
    timestamp: at.toISOString(),
    data: { seller_id: seller.id, seller_name: seller.name },
  };
}

/** What a worker is to send, and where. */
export interface WebhookTestInput {
  sellerId: string;
  webhookId: string;
  url: string;
}
