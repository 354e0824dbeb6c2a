import { z } from 'zod';
import type { OrderChange } from '../domain/order';
import { ACTORS, ORDER_STATUSES } from '../domain/status';
import type { OrderBody } from './order';
import { orderSchema } from './order';

/** The body of an `order.status_changed` webhook. */
export const orderStatusChangedSchema = z
  .object({
    type: z.literal('order.status_changed'),
    timestamp: z.iso.datetime(),
    data: z.object({
      order: orderSchema,
      previous_status: z.enum(ORDER_STATUSES),
      sequence: z
        .number()
        .int()
        .min(1)
        .meta({ description: 'The change of status of this order, from 1 without a gap' }),
      actor: z.enum(ACTORS),
      reason: z.string().nullable(),
    }),
  })
  .meta({ id: 'OrderStatusChanged' });
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
    timestamp: z.iso.datetime(),
    data: z.object({ seller_id: z.uuid(), seller_name: z.string() }),
  })
  .meta({ id: 'WebhookTest' });
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
