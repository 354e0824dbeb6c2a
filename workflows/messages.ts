import { defineSearchAttributeKey } from '@temporalio/common';
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { ChangeRequest, OrderState } from '../src/domain/order';

/** Order workflows and their saves. */
export const ORDER_TASK_QUEUE = 'orders';
/** Webhook attempts. Slow receivers have slots of their own, so that they delay no save. */
export const WEBHOOK_TASK_QUEUE = 'webhooks';

/** The id of an order's workflow is this, followed by the order's id. */
export const WORKFLOW_ID_PREFIX = 'order-';

export const workflowId = (orderId: string): string => `${WORKFLOW_ID_PREFIX}${orderId}`;

/** A run without a state reads the order's row. A first start carries it, which saves the read. */
export interface OrderWorkflowInput {
  orderId: string;
  state?: OrderState;
}

/** The order as it is saved; null while a run that resumes it still reads the row. */
export const getOrderQuery = defineQuery<OrderState | null>('getOrder');

/** Returns the order once the change is saved. Fails with CHANGE_REFUSED if the status does not allow it. */
export const cancelOrderUpdate = defineUpdate<OrderState, [ChangeRequest]>('cancelOrder');
export const reportProgressUpdate = defineUpdate<OrderState, [ChangeRequest]>('reportProgress');

/** For people and flows that use Temporal directly: `{"reason": "…"}`. */
export const cancelSignal = defineSignal<[unknown?]>('cancel');
/** For people and flows that use Temporal directly: `{"event": "approved", "reason": "…", "paymentTerm": "PAY_LATER"}`. */
export const customerProgressSignal = defineSignal<[unknown?]>('customerProgress');

/** Sends the webhook event with this id once more, outside the order's sequence. */
export const resendWebhookSignal = defineSignal<[eventId: string]>('resendWebhook');

/** Failure type of an update that the order's status refuses. Its one detail is that status. */
export const CHANGE_REFUSED = 'OrderChangeRefused';
/** Failure type of an update for another version than the order has. Its one detail is that version. */
export const VERSION_DIFFERS = 'OrderVersionDiffers';
/** Failure type of a save on a row that has another change: the run ends, and the next one reads the row. */
export const ROW_CHANGED = 'RowChanged';
/** Failure type of a save on a row of a restored backup, which lacks changes: an operator runs `reconcile`. */
export const ROW_BEHIND = 'RowBehind';

export const orderStatusKey = defineSearchAttributeKey('OrderStatus', 'KEYWORD');
export const sellerIdKey = defineSearchAttributeKey('SellerId', 'KEYWORD');
/** `sandbox` or `live`: the kind of the order's account. */
export const accountModeKey = defineSearchAttributeKey('AccountMode', 'KEYWORD');
export const orderReferenceKey = defineSearchAttributeKey('OrderReference', 'KEYWORD');
