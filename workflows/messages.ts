import { defineSearchAttributeKey } from '@temporalio/common';
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import {
  type OrderEvent,
  type OrderState,
  type ChangeRequest,
  type Actor,
  type Channel,
  ACTORS,
  PAYMENT_TERMS,
  CHANNELS,
  MAX_REASON_LENGTH,
  ORDER_EVENTS,
  isProgressEvent,
} from '../src/domain/order';
import { type RequestContext, isRequestId, traceIdOf } from '../src/domain/request-context';

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
export const cancelOrderUpdate = defineUpdate<OrderState, [ChangeRequest]>('cancelOrder');
export const reportProgressUpdate = defineUpdate<OrderState, [ChangeRequest]>('reportProgress');

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

/** A message that cancels the order: an operator's, unless it names another actor. */
export const toCancel = (payload: unknown, channel = statedChannel(payload)): UncheckedRequest =>
  toUncheckedRequest(payload, channel, 'operator', 'cancel');

/** A message that reports the customer's progress: the checkout's, unless it names another actor. */
export const toProgress = (payload: unknown, channel = statedChannel(payload)): UncheckedRequest =>
  toUncheckedRequest(payload, channel, 'checkout');

/**
 * Reads a message's payload. People in the Temporal UI can send anything or nothing, and a handler that threw on it
 * would block the workflow. So this never throws.
 * @param event the event of a message that always means the same one
 */
function toUncheckedRequest(
  payload: unknown,
  channel: Channel,
  defaultActor: Actor,
  event?: OrderEvent,
): UncheckedRequest {
  const fields = fieldsOf(payload);
  const { actor, reason, ifVersion } = fields;
  const paymentTerm = PAYMENT_TERMS.find((term) => term === fields.paymentTerm);
  const context = toContext(fields.context);
  return {
    event: event ?? toEventName(fields.event, channel),
    actor: ACTORS.find((known) => known === actor) ?? defaultActor,
    channel,
    reason: typeof reason === 'string' ? toStorable(truncate(reason, MAX_REASON_LENGTH)) : null,
    ...(paymentTerm && { paymentTerm }),
    ...(Array.isArray(ifVersion) && { ifVersion: ifVersion.filter((version) => typeof version === 'number') }),
    ...(context && { context }),
  };
}

/** The channel that the payload of an update states. The service states it in each of its updates. */
function statedChannel(payload: unknown): Channel {
  const { channel } = fieldsOf(payload);
  return CHANNELS.find((known) => known === channel) ?? 'temporal';
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

/**
 * Only progress events: a cancel has a message of its own. The workflow's timer expires an order, or a seller of a
 * sandbox account, who simulates it through the API.
 */
function toEventName(event: unknown, channel: Channel): string {
  if (isProgressEvent(event) || (event === 'expired' && channel === 'api')) return event;
  return toStorable(truncate(`no event: ${JSON.stringify(event) as string | undefined}`, MAX_EVENT_LENGTH));
}

/** Counts characters, not UTF-16 units, as the HTTP contract does. */
function truncate(text: string, length: number): string {
  return Array.from(text).slice(0, length).join('');
}

/** Text from outside as Postgres stores it: without NUL and lone surrogates. A save with one would be retried forever. */
function toStorable(text: string): string {
  return text.replace(/\0|\p{Surrogate}/gu, '\ufffd');
}

export function isOrderEvent(event: string): event is OrderEvent {
  return ORDER_EVENTS.includes(event as OrderEvent);
}
