import { createHash } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { EventFacts, OrderFacts } from './facts';
import { type Allowances, mayBeUndone } from './invariants';
import type { OrderRecord } from './ledger';
import type { Received } from './receiver';

/** The schedule of the runs. It lasts two minutes, so that no fault exhausts a webhook. */
export const RETRY_DELAYS_S = [0, 0.5, ...Array<number>(120).fill(1)];
/** A delay varies by 10 %; the rest is the resolution of the clocks. */
const LEAST_DELAY_SHARE = 0.85;
/** As docs/sellers/webhooks.md recommends to receivers. */
const TIMESTAMP_TOLERANCE_S = 300;

const isDelivered = ({ status }: Received): boolean => status !== undefined && status >= 200 && status < 300;

/** Every event delivered at least once, in order, one at a time, with one id and one content, without a gap. */
export function webhookFaults(record: OrderRecord, order: OrderFacts, allowed: Allowances): string[] {
  const { changes, events, received } = order;
  const steps = changes.filter(({ from, to }) => from !== null && from !== to);
  const isUndone = mayBeUndone(record, order, allowed);
  const { failedRuns, repeatsLate = false } = allowed;
  // A run that an operator ends, or a restoration undoes, takes its resends with it.
  const mayLoseResends = isUndone || failedRuns === 'all' || (failedRuns?.has(order.id) ?? false);
  if (record.webhookUrl === null) return received.length > 0 && !isUndone ? ['a webhook without a URL'] : [];
  const overlaps = allowed.overlaps?.(record.webhookUrl) ?? false;
  return [
    ...(events.map(({ sequence }) => sequence).join() === steps.map((_, index) => index + 1).join()
      ? []
      : [`the webhooks' sequences have a gap or a repeat: ${events.map(({ sequence }) => sequence).join(', ')}`]),
    ...events.flatMap((event, index) => contentFaults(event, steps[index]?.to, received, isUndone)),
    ...events.flatMap((event) => stateFaults(event, record, received, allowed)),
    ...targetFaults(record, events, received, isUndone),
    ...(isUndone ? [] : events.flatMap((event) => deliveryFaults(event, received))),
    ...(mayLoseResends ? [] : events.flatMap((event) => missingResends(event, record))),
    ...contradictions(received),
    ...(record.resent || isUndone ? [] : orderFaults(repeatsLate ? withoutRepeats(received) : received)),
    ...(record.resent || overlaps || repeatsLate ? [] : overlapFaults(received)),
    ...(record.resent ? [] : callsAfterGone(events, received)),
    ...(record.resent || isUndone || overlaps || repeatsLate
      ? []
      : events.flatMap((event) => hastyCalls(event, received))),
  ];
}

function contentFaults(
  { sequence, body, id }: EventFacts,
  status: string | undefined,
  received: Received[],
  isUndone: boolean,
): string[] {
  const digest = createHash('sha256').update(body).digest('base64url');
  const told = JSON.parse(body) as { data: { sequence: number; order: { status: string } } };
  return [
    ...(told.data.sequence === sequence && told.data.order.status === status
      ? []
      : [`webhook ${sequence} has ${told.data.order.status}, and the change made ${status}`]),
    // A restoration can lose a settlement: the webhook without it has another content, and so another id.
    ...(isUndone || received.every((call) => call.sequence !== sequence || call.id === id)
      ? []
      : [`webhook ${sequence} came with several ids`]),
    ...(received.every((call) => call.id !== id || call.digest === digest)
      ? []
      : [`webhook ${sequence} came with another body than the stored one`]),
  ];
}

/** A delivered webhook was accepted by the receiver. */
function deliveryFaults({ id, sequence, state }: EventFacts, received: Received[]): string[] {
  const isAccepted = received.some((call) => call.id === id && isDelivered(call));
  return state === 'delivered' && !isAccepted
    ? [`webhook ${sequence} is delivered, and the receiver did not accept it`]
    : [];
}

/** Every acknowledged resend was made. */
function missingResends({ id, sequence, attempts }: EventFacts, { resends }: OrderRecord): string[] {
  const isMissing = resends.some(
    ({ webhookId, requestedAt }) =>
      webhookId === id && !attempts.some(({ step, at }) => step === null && at >= requestedAt),
  );
  return isMissing ? [`an acknowledged resend of webhook ${sequence} was not made`] : [];
}

function stateFaults(
  { sequence, state, attempts }: EventFacts,
  { webhookUrl }: OrderRecord,
  received: Received[],
  { undelivered }: Allowances,
): string[] {
  const isGone = received.some(({ status }) => status === 410);
  const others = [...(undelivered?.(webhookUrl!) ?? []), ...(isGone ? ['disabled'] : [])];
  const numbers = attempts.map(({ attempt }) => attempt);
  const steps = attempts.flatMap(({ step }) => step ?? []);
  return [
    ...(state === 'delivered' || others.includes(state) ? [] : [`webhook ${sequence} is ${state}`]),
    ...(numbers.every((number, index) => number === index + 1) ? [] : [`attempts of webhook ${sequence} have a gap`]),
    ...(new Set(steps).size === steps.length ? [] : [`webhook ${sequence} made a step of its schedule twice`]),
  ];
}

/** Two webhooks with different content never share an id. */
function contradictions(received: Received[]): string[] {
  const digests = new Map<string, string>();
  return received.flatMap(({ id, digest, sequence }) => {
    const first = digests.get(id) ?? digest;
    digests.set(id, first);
    return first === digest ? [] : [`two webhooks ${sequence} with different content share the id ${id}`];
  });
}

/** The calls without those for a webhook that was accepted before. */
function withoutRepeats(received: Received[]): Received[] {
  return received.filter(
    ({ id }, index) => !received.slice(0, index).some((earlier) => earlier.id === id && isDelivered(earlier)),
  );
}

/** A webhook is sent after the one before it was accepted. */
function orderFaults(received: Received[]): string[] {
  return received
    .slice(1)
    .flatMap(({ sequence }, index) =>
      sequence < received[index]!.sequence ? [`webhook ${sequence} was sent after ${received[index]!.sequence}`] : [],
    );
}

/** The calls of an order are made one at a time. The receiver logs whole milliseconds. */
function overlapFaults(received: Received[]): string[] {
  return received.slice(1).flatMap((call, index) => {
    const { sequence, closedAt = 0 } = received[index]!;
    return call.at < closedAt - 1 ? [`the calls of webhooks ${sequence} and ${call.sequence} overlap`] : [];
  });
}

/** Each call has a stored webhook, went to the order's own endpoint, and has a valid signature of its seller. */
function targetFaults(
  { webhookUrl, webhookSecret }: OrderRecord,
  events: EventFacts[],
  received: Received[],
  isUndone: boolean,
): string[] {
  const { pathname } = new URL(webhookUrl!);
  const webhook = new Webhook(webhookSecret);
  const isSigned = ({ id, timestamp, signature, at }: Received): boolean => {
    const body = events.find((event) => event.id === id)?.body;
    if (body === undefined) return isUndone;
    const expected = webhook.sign(id, new Date(Number(timestamp) * 1000), body);
    return signature.split(' ').includes(expected) && Math.abs(at / 1000 - Number(timestamp)) <= TIMESTAMP_TOLERANCE_S;
  };
  return received.flatMap((call) => [
    ...(call.path === pathname ? [] : [`webhook ${call.sequence} was sent to ${call.path}`]),
    ...(isSigned(call) ? [] : [`webhook ${call.sequence} is not stored, or has no valid signature`]),
  ]);
}

/** A recorded 410 ends the webhooks of the order. */
function callsAfterGone(events: EventFacts[], received: Received[]): string[] {
  if (!events.some(({ attempts }) => attempts.some(({ status }) => status === 410))) return [];
  const gone = received.findIndex(({ status }) => status === 410);
  return received.slice(gone + 1).map(({ sequence }) => `webhook ${sequence} was sent after a 410`);
}

/** The receiver sees the delays of the schedule, and its own `Retry-After`, if it has received and answered every attempt. */
function hastyCalls({ id, sequence, attempts }: EventFacts, received: Received[]): string[] {
  const calls = received.filter((call) => call.id === id);
  if (calls.length !== attempts.length || attempts.some(({ step }) => step === null)) return [];
  return calls.slice(1).flatMap((call, index) => {
    const { at, status, retryAfterS = 0 } = calls[index]!;
    const leastMs = 1000 * Math.max(RETRY_DELAYS_S[index + 1]! * LEAST_DELAY_SHARE, retryAfterS);
    const isHasty = status !== undefined && call.at - at < leastMs;
    return isHasty ? [`webhook ${sequence} was sent again after ${call.at - at} ms instead of ${leastMs} ms`] : [];
  });
}
