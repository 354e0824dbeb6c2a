import type { Actor, OrderEvent, OrderStatus } from './status';
import { transition } from './status';

export const PAYMENT_TERMS = ['PAY_NOW', 'PAY_LATER'] as const;
export type PaymentTerm = (typeof PAYMENT_TERMS)[number];

/** Spec section 2.2; copied from the seller's account when the order is created. */
export interface Pricing {
  representativeInterest: number;
  promotions: readonly Promotion[];
}

export interface Promotion {
  name: string;
  interestFreeDays: number;
  /** A calendar date, `2027-01-31`. */
  validUntil: string;
}

/** An order at one version. Times are ISO 8601 in UTC. */
export interface Order {
  id: string;
  sellerId: string;
  sellerName: string;
  amountPence: number;
  reference: string;
  allowedPaymentTerms: readonly PaymentTerm[];
  redirectUrl: string;
  webhookUrl: string | null;
  payLinkId: string;
  pricing: Pricing;
  createdAt: string;
  /** When an order still open turns UNSUCCESSFUL by itself; null where no expiry is configured. */
  expiresAt: string | null;
  /** 1 when created; each saved change adds one. */
  version: number;
  status: OrderStatus;
  cancelledAt: string | null;
}

/** What a shop sent along with its order, to be returned as it was. */
export interface Attachments {
  source: string | null;
  metaData: Record<string, unknown> | null;
}

/** One line of an order's history: the change that made `version`. */
export interface OrderChange {
  version: number;
  event: OrderEvent | 'created';
  from: OrderStatus | null;
  to: OrderStatus;
  actor: Actor;
  reason: string | null;
  at: string;
}

/** An order and all changes that led to it, the first being `created`. */
export interface OrderHistory {
  order: Order;
  changes: readonly OrderChange[];
}

export interface ChangeRequest {
  event: OrderEvent;
  actor: Actor;
  reason: string | null;
}

/** A request by somebody who has seen the order at `observedVersion`; nobody may judge it on an older one. */
export interface VersionedRequest extends ChangeRequest {
  observedVersion: number;
}

export type Decision = { kind: 'change'; next: OrderHistory } | { kind: 'repeat' } | { kind: 'refused' };

/** The history of an order that was just created. */
export function created(order: Order, actor: Actor): OrderHistory {
  return {
    order,
    changes: [{ version: 1, event: 'created', from: null, to: 'CREATED', actor, reason: null, at: order.createdAt }],
  };
}

/** Whether `event` would change the order, repeats what its history already holds, or is refused. */
export function classifyEvent({ order, changes }: OrderHistory, event: OrderEvent): Decision['kind'] {
  if (changes.some((change) => change.event === event)) return 'repeat';
  return transition(order.status, event) ? 'change' : 'refused';
}

/**
 * What `request` makes of an order. Never throws.
 * @param now ISO 8601; a clock that runs behind the order's last change is brought up to it, so times never step back.
 */
export function decide(history: OrderHistory, { event, actor, reason }: ChangeRequest, now: string): Decision {
  const kind = classifyEvent(history, event);
  if (kind !== 'change') return { kind };
  const { order, changes } = history;
  const to = transition(order.status, event) ?? order.status;
  const last = changes.at(-1)?.at ?? order.createdAt;
  const at = now > last ? now : last;
  const version = order.version + 1;
  return {
    kind,
    next: {
      order: { ...order, version, status: to, cancelledAt: event === 'cancel' ? at : order.cancelledAt },
      changes: [...changes, { version, event, from: order.status, to, actor, reason, at }],
    },
  };
}

/** The order as `change` left it. */
export function orderAt({ order, changes }: OrderHistory, { version, to }: OrderChange): Order {
  const cancel = changes.find((change) => change.event === 'cancel' && change.version <= version);
  return { ...order, version, status: to, cancelledAt: cancel?.at ?? null };
}

/** A change that sellers hear of: the status became another one, after CREATED. */
export function isStatusChange(change: OrderChange): boolean {
  return change.from !== null && change.from !== change.to;
}

/** The place of a change among the order's changes of status, from 1 and without a gap. */
export function sequenceOf(changes: readonly OrderChange[], change: OrderChange): number {
  return changes.filter((other) => isStatusChange(other) && other.version <= change.version).length;
}
