import type { Actor, OrderEvent } from '../src/domain/status';
import { ACTORS, isProgressEvent } from '../src/domain/status';

const MAX_REASON_LENGTH = 500;
const MAX_EVENT_LENGTH = 100;

/** A request as a message brought it: the event may be none that exists. */
export interface UncheckedRequest {
  event: string;
  actor: Actor;
  reason: string | null;
}

/**
 * What a message asks for. Messages also come from people in the Temporal UI, who may send anything or nothing: a
 * handler that threw on it would block the workflow for good.
 */
export function toRequest(payload: unknown, fallbackActor: Actor, event?: OrderEvent): UncheckedRequest {
  const fields: Record<string, unknown> = typeof payload === 'object' && payload !== null ? { ...payload } : {};
  const { actor, reason } = fields;
  return {
    event: event ?? nameOf(fields.event),
    actor: ACTORS.find((known) => known === actor) ?? fallbackActor,
    reason: typeof reason === 'string' ? reason.slice(0, MAX_REASON_LENGTH) : null,
  };
}

function nameOf(event: unknown): string {
  const name = typeof event === 'string' ? event : `not a name: ${JSON.stringify(event) as string | undefined}`;
  return name.slice(0, MAX_EVENT_LENGTH);
}

export function isRequestable(event: string): event is OrderEvent {
  return event === 'cancel' || event === 'expired' || isProgressEvent(event);
}
