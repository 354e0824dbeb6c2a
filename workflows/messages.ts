import { defineSearchAttributeKey } from '@temporalio/common';
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { VersionedRequest, Order, OrderHistory } from '../src/domain/order';

/** A first start carries the order; a run that resumes one is given the id alone and reads the row itself. */
export type OrderWorkflowInput = { history: OrderHistory } | { orderId: string };

/** Attempts at webhooks wait for receivers; on a queue and slots of their own they hold up no saves. */
export const WEBHOOK_TASK_QUEUE = 'order-webhooks';

/** A lender may take its time; on a queue and slots of its own it holds up neither saves nor webhooks. */
export const LENDER_TASK_QUEUE = 'order-decisions';

/** The order as it is saved; null while a resumed run still reads it. */
export const getOrderQuery = defineQuery<Order | null>('getOrder');

/** Answers with the order once the change is saved; fails with REFUSED where it is not allowed. */
export const cancelOrderUpdate = defineUpdate<Order, [VersionedRequest]>('cancelOrder');
export const reportProgressUpdate = defineUpdate<Order, [VersionedRequest]>('reportProgress');

/** For people and flows that speak Temporal directly: `{"reason": "…"}` and `{"event": "approved", "reason": "…"}`. */
export const cancelSignal = defineSignal<[unknown?]>('cancel');
export const customerProgressSignal = defineSignal<[unknown?]>('customerProgress');

/** Webhooks are marked in Postgres to be sent once more; the signal says no more than that. */
export const resendWebhooksSignal = defineSignal('resendWebhooks');

/** An application is in Postgres, to be decided on by the lender; the signal says no more than that. */
export const applicationSubmittedSignal = defineSignal('applicationSubmitted');

/** Type of the failure of an update that met a workflow behind its row: the run stops, and the next one makes it. */
export const BEHIND_ROW = 'OrderBehindRow';

/** Type of the failure of an update that the order's status refuses; its one detail is that status. */
export const REFUSED = 'OrderChangeRefused';

export const orderStatusKey = defineSearchAttributeKey('OrderStatus', 'KEYWORD');
export const sellerIdKey = defineSearchAttributeKey('SellerId', 'KEYWORD');
export const orderReferenceKey = defineSearchAttributeKey('OrderReference', 'KEYWORD');
