import type { Actor, OrderEvent } from '../src/domain/status';
import { ACTORS, isProgressEvent } from '../src/domain/status';

const MAX_REASON_LENGTH = 500;
const MAX_EVENT_LENGTH = 100;

/** A request as a message brought it: the event may be none that exists. */
export interface UncheckedRequest {
  event: string;
  actor: Actor;
  reason: string | null;
  /** The version that the sender has seen; 0 where it does not say. */
  observedVersion: number;
}

/**
 * What a message asks for. Messages also come from people in the Temporal UI, who may send anything or nothing: a
 * handler that threw on it would block the workflow for good.
 */
export function toRequest(payload: unknown, fallbackActor: Actor, event?: OrderEvent): UncheckedRequest {
  const fields: Record<string, unknown> = typeof payload === 'object' && payload !== null ? { ...payload } : {};
  const { actor, reason, observedVersion } = fields;
  return {
    event: event ?? nameOf(fields.event),
    actor: ACTORS.find((known) => known === actor) ?? fallbackActor,
    reason: typeof reason === 'string' ? storable(cut(reason, MAX_REASON_LENGTH)) : null,
    observedVersion: typeof observedVersion === 'number' ? observedVersion : 0,
  };
}

/** Cancelling and expiring have messages and reasons of their own; no report names them. */
function nameOf(event: unknown): string {
  if (isProgressEvent(event)) return event;
  return storable(cut(`no event: ${JSON.stringify(event) as string | undefined}`, MAX_EVENT_LENGTH));
}

/** By characters, as the HTTP contract counts them. */
function cut(text: string, length: number): string {
  return Array.from(text).slice(0, length).join('');
}

/** Postgres keeps neither NUL nor lone surrogates; a save with one would be tried for ever. */
function storable(text: string): string {
  return text.replace(/\0|\p{Surrogate}/gu, '\ufffd');
}

export function isRequestable(event: string): event is OrderEvent {
  return event === 'cancel' || event === 'expired' || isProgressEvent(event);
}
