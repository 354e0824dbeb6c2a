import { defineSearchAttributeKey } from '@temporalio/common';
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import {
  type OrderEvent,
  type OrderState,
  type ChangeRequest,
  type RequestContext,
  ACTORS,
  PAYMENT_TERMS,
  CHANNELS,
  MAX_REASON_LENGTH,
  ORDER_EVENTS,
} from '../src/domain/order';
import { isRequestId, traceIdOf } from '../src/domain/text';

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

/**
 * Returns the order once the change is saved. Fails with CHANGE_REFUSED, ROW_CHANGED or ROW_BEHIND. No validator refuses
 * it, because it may arrive before the row is read, and has to wait for other changes.
 */
export const changeOrderUpdate = defineUpdate<OrderState, [ChangeRequest]>('changeOrder');

/** For people and flows that use Temporal directly: `{"reason": "…"}`. */
export const cancelSignal = defineSignal<[unknown?]>('cancel');
/** For people and flows that use Temporal directly: `{"event": "approved", "reason": "…", "paymentTerm": "PAY_LATER"}`. */
export const customerProgressSignal = defineSignal<[unknown?]>('customerProgress');

/** Sends the webhook event with this id once more, outside the order's sequence. */
export const resendWebhookSignal = defineSignal<[webhookId: string]>('resendWebhook');

/** Failure type of an update that the order's status or version does not allow. */
export const CHANGE_REFUSED = 'OrderChangeRefused';
/** Failure type of a save on a row that has another change. The run ends, and the next one reads the row. */
export const ROW_CHANGED = 'RowChanged';
/**
 * Failure type of a save on a row of a restored backup, which lacks changes. The run ends, and none is started until an
 * operator has run `reconcile`.
 */
export const ROW_BEHIND = 'RowBehind';

export const orderStatusKey = defineSearchAttributeKey('OrderStatus', 'KEYWORD');
export const sellerIdKey = defineSearchAttributeKey('SellerId', 'KEYWORD');
/** `sandbox` or `live`: the kind of the order's account. */
export const accountModeKey = defineSearchAttributeKey('AccountMode', 'KEYWORD');
export const orderReferenceKey = defineSearchAttributeKey('OrderReference', 'KEYWORD');

const MAX_EVENT_LENGTH = 100;

/** A change request as a message carries it: its event may not exist. */
export type UncheckedRequest = Omit<ChangeRequest, 'event'> & { event: string };

/**
 * Reads a message's payload. People in the Temporal UI can send anything or nothing, and a handler that threw on it
 * would block the workflow. So this never throws. Unless the payload names an actor, a cancel is an operator's, and any
 * other event the checkout's. The service states the channel in each of its updates.
 * @param meaning what the message always means, whatever its payload names
 */
export function toRequest(
  payload: unknown,
  meaning: { event?: 'cancel'; channel?: 'temporal' } = {},
): UncheckedRequest {
  const fields: Record<string, unknown> = { ...fieldsOf(payload), ...meaning };
  const { event, actor, channel, reason, ifVersion } = fields;
  const paymentTerm = PAYMENT_TERMS.find((term) => term === fields.paymentTerm);
  const context = toContext(fields.context);
  return {
    event: isOrderEvent(event) ? event : toStorable(truncate(`no event: ${JSON.stringify(event)}`, MAX_EVENT_LENGTH)),
    actor: ACTORS.find((known) => known === actor) ?? (event === 'cancel' ? 'operator' : 'checkout'),
    channel: CHANNELS.find((known) => known === channel) ?? 'temporal',
    reason: typeof reason === 'string' ? toStorable(truncate(reason, MAX_REASON_LENGTH)) : null,
    ...(paymentTerm && { paymentTerm }),
    ...(Array.isArray(ifVersion) && { ifVersion: ifVersion.filter((version) => typeof version === 'number') }),
    ...(context && { context }),
  };
}

function fieldsOf(payload: unknown): Record<string, unknown> {
  return typeof payload === 'object' && payload !== null ? { ...payload } : {};
}

/** Webhooks carry the `traceparent` as a header. */
function toContext(context: unknown): RequestContext | undefined {
  const { requestId, traceparent } = fieldsOf(context);
  const known = {
    ...(isRequestId(requestId) && { requestId }),
    ...(typeof traceparent === 'string' && traceIdOf(traceparent) && { traceparent }),
  };
  return Object.keys(known).length > 0 ? known : undefined;
}

/** Counts characters, not UTF-16 units, as the HTTP contract does. */
function truncate(text: string, length: number): string {
  return Array.from(text).slice(0, length).join('');
}

/** Text from outside as Postgres stores it: without NUL and lone surrogates. A save with one would be retried forever. */
function toStorable(text: string): string {
  return text.replace(/\0|\p{Surrogate}/gu, '\ufffd');
}

export function isOrderEvent(event: unknown): event is OrderEvent {
  return ORDER_EVENTS.includes(event as OrderEvent);
}
