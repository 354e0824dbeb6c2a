import { type PaymentTerm, PAYMENT_TERMS } from '../src/domain/order';
import {
  type Actor,
  type Channel,
  type OrderEvent,
  ACTORS,
  CHANNELS,
  ORDER_EVENTS,
  isProgressEvent,
} from '../src/domain/status';

const MAX_REASON_LENGTH = 500;
const MAX_EVENT_LENGTH = 100;

/** A change request as a message carries it: its event may not exist. */
export interface UncheckedRequest {
  event: string;
  actor: Actor;
  channel: Channel;
  reason: string | null;
  paymentTerm?: PaymentTerm;
  /** The versions that the change is for; omitted for any. */
  ifVersion?: readonly number[];
}

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
  return {
    event: event ?? toEventName(fields.event, channel),
    actor: ACTORS.find((known) => known === actor) ?? defaultActor,
    channel,
    reason: typeof reason === 'string' ? toStorable(truncate(reason, MAX_REASON_LENGTH)) : null,
    ...(paymentTerm && { paymentTerm }),
    ...(Array.isArray(ifVersion) && { ifVersion: ifVersion.filter((version) => typeof version === 'number') }),
  };
}

/** A message that cancels the order: an operator's, unless it names another actor. */
export const toCancel = (payload: unknown, channel: Channel): UncheckedRequest =>
  toUncheckedRequest(payload, channel, 'operator', 'cancel');

/** A message that reports the customer's progress: the checkout's, unless it names another actor. */
export const toProgress = (payload: unknown, channel: Channel): UncheckedRequest =>
  toUncheckedRequest(payload, channel, 'checkout');

/** The channel that the payload of an update states. The service states it in each of its updates. */
export function statedChannel(payload: unknown): Channel {
  const { channel } = fieldsOf(payload);
  return CHANNELS.find((known) => known === channel) ?? 'temporal';
}

function fieldsOf(payload: unknown): Record<string, unknown> {
  return typeof payload === 'object' && payload !== null ? { ...payload } : {};
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
