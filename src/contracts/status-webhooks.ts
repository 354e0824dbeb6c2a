import {
  type Attachments,
  type Order,
  type WorkflowOrderHistory,
  isStatusChange,
  sequenceOf,
  stateAfter,
  withState,
} from '../domain/order';
import type { RequestContext } from '../domain/request-context';
import { toOrderBody } from './order-mapper';
import { stringify } from './verbatim-json';
import { toOrderStatusChanged } from './webhook-mapper';

/** The webhook for one status change: its body is fixed here and never built again. */
export interface StatusWebhook {
  /** Of the change. */
  version: number;
  sequence: number;
  /** The exact text that is signed and sent. */
  body: string;
  /** The request that made the change. */
  request?: RequestContext | undefined;
}

/** The webhooks for all status changes of an order, oldest first. Each shows the order as that change left it. */
export function toStatusWebhooks(
  { order, attachments }: { order: Order; attachments: Attachments },
  history: WorkflowOrderHistory,
  checkoutBaseUrl: string,
): StatusWebhook[] {
  return history.changes.filter(isStatusChange).map((change) => {
    const sequence = sequenceOf(history.changes, change);
    const orderAfter = toOrderBody(withState(order, stateAfter(history, change)), attachments, checkoutBaseUrl);
    return {
      version: change.version,
      sequence,
      body: stringify(toOrderStatusChanged(change, orderAfter, sequence)),
    };
  });
}
