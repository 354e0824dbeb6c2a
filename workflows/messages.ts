import { defineSearchAttributeKey } from '@temporalio/common';
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { PreviousRun, VersionedRequest, WorkflowOrderHistory, WorkflowOrder } from '../src/domain/order';

/**
 * A first start carries the order's history. A run that resumes an order reads the row, and brings it forward if the
 * run before it had saved more.
 */
export type OrderWorkflowInput = { history: WorkflowOrderHistory } | { orderId: string; previous?: PreviousRun };

/**
 * The task queue of order workflows and webhook attempts. Saves are local activities, so the activity slots serve
 * webhook attempts only, and attempts do not delay saves.
 */
export const ORDER_TASK_QUEUE = 'orders';

/**
 * A lender or a bank may be slow. Calls to them have a queue and slots of their own, so that they delay neither saves
 * nor webhooks.
 */
export const LENDER_TASK_QUEUE = 'order-decisions';

/** The order as it is saved; null while a resumed run still reads it. */
export const getOrderQuery = defineQuery<WorkflowOrder | null>('getOrder');

/** Returns the order once the change is saved. Fails with CHANGE_REFUSED_FAILURE if the change is not allowed. */
export const cancelOrderUpdate = defineUpdate<WorkflowOrder, [VersionedRequest]>('cancelOrder');
export const reportProgressUpdate = defineUpdate<WorkflowOrder, [VersionedRequest]>('reportProgress');

/** For people and flows that use Temporal directly: `{"reason": "…"}`. */
export const cancelSignal = defineSignal<[unknown?]>('cancel');
/** For people and flows that use Temporal directly: `{"event": "approved", "reason": "…"}`. */
export const customerProgressSignal = defineSignal<[unknown?]>('customerProgress');

/** The row lacks changes that the workflow has: a restored backup. The workflow saves them again. */
export const saveAgainSignal = defineSignal('saveAgain');

/** A resend is requested in Postgres. */
export const resendWebhooksSignal = defineSignal('resendWebhooks');

/** An application was submitted or a payment was started: the lender or the bank has to be asked. */
export const requestDecisionSignal = defineSignal('requestDecision');

/** Failure type of an update whose workflow is behind its row. The run stops, and the next run makes the change. */
export const BEHIND_ROW_FAILURE = 'OrderBehindRow';

/** The summary of a call that records a refused request: this, followed by the requested event. */
export const REFUSAL_SUMMARY_PREFIX = 'refused: ';

/** Failure type of an update that the order's status refuses. Its one detail is that status. */
export const CHANGE_REFUSED_FAILURE = 'OrderChangeRefused';

/** Failure type of an update that is for another version of the order. Its one detail is the order's version. */
export const VERSION_DIFFERS_FAILURE = 'OrderVersionDiffers';

export const orderStatusKey = defineSearchAttributeKey('OrderStatus', 'KEYWORD');
export const sellerIdKey = defineSearchAttributeKey('SellerId', 'KEYWORD');
/** `sandbox` or `live`: the kind of the order's account. */
export const accountModeKey = defineSearchAttributeKey('AccountMode', 'KEYWORD');
/** Set only while webhooks are in trouble: see `WebhookTrouble`. */
export const webhookStateKey = defineSearchAttributeKey('WebhookState', 'KEYWORD');
export const orderReferenceKey = defineSearchAttributeKey('OrderReference', 'KEYWORD');
