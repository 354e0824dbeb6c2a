import { createHash } from 'node:crypto';
import { type Attachments, type OrderChange, type OrderHistory, stateAfter, withState } from '../domain/order';
import type { RequestContext } from '../domain/request-context';
import { toOrderBody } from './order-mapper';
import { toOrderStatusChanged } from './webhook-mapper';

/** The webhook for one status change: its body is fixed here and never built again. */
export interface StatusWebhook {
  id: string;
  sequence: number;
  /** The exact text that is signed and sent. */
  body: string;
  /** The request that made the change. */
  request?: RequestContext | undefined;
}

/** The webhook for a status change. It shows the order as the change left it. */
export function toStatusWebhook(
  { order, changes, attachments }: OrderHistory & { attachments: Attachments },
  change: OrderChange,
  sequence: number,
  checkoutBaseUrl: string,
): StatusWebhook {
  const after = withState(order, stateAfter({ order, changes: [...changes, change] }, change));
  const body = JSON.stringify(toOrderStatusChanged(change, toOrderBody(after, attachments, checkoutBaseUrl), sequence));
  return { id: webhookId(order.id, sequence, body), sequence, body };
}

/**
 * A UUID of version 8 (RFC 9562, 5.8) made from the content: a webhook that a restored backup has lost gets the same id
 * again, and one with other content another id.
 */
function webhookId(orderId: string, sequence: number, body: string): string {
  const hex = createHash('sha256').update(`${orderId}:${sequence}:${body}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}
