import type { OrderChange } from '../domain/order';
import type { OrderBody } from './order-schemas';
import type { OrderStatusChanged, WebhookTest } from './webhook-schemas';

/** @param change a status change, so its `from` is not null */
export function toOrderStatusChanged(change: OrderChange, order: OrderBody, sequence: number): OrderStatusChanged {
  return {
    type: 'order.status_changed',
    timestamp: change.at,
    data: {
      order,
      previous_status: change.from ?? change.to,
      event: change.event,
      sequence,
      actor: change.actor,
      reason: change.reason,
    },
  };
}

export function toWebhookTest(seller: { id: string; name: string }, createdAt: string): WebhookTest {
  return {
    type: 'webhook.test',
    timestamp: createdAt,
    data: { seller_id: seller.id, seller_name: seller.name },
  };
}
