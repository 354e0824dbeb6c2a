import {
  type Actor,
  type Channel,
  type OrderEvent,
  type OrderStatus,
  type UnsuccessfulReason,
  transition,
  unsuccessfulReason,
} from './status';

export const PAYMENT_TERMS = ['PAY_NOW', 'PAY_LATER'] as const;
export type PaymentTerm = (typeof PAYMENT_TERMS)[number];

/** Spec section 2.2; copied from the seller's account when the order is created. */
export interface Pricing {
  /** In percent. */
  representativeInterest: number;
  promotions: readonly Promotion[];
}

export interface Promotion {
  name: string;
  interestFreeDays: number;
  /** A calendar date, `2027-01-31`. */
  validUntil: string;
}

/** The part of an order that never changes. Postgres owns it. Times are ISO 8601 in UTC. */
interface OrderFacts {
  id: string;
  sellerId: string;
  sellerName: string;
  /** True for an order of a sandbox account: the sandbox lender decides, and no money moves. */
  sandbox: boolean;
  amountPence: number;
  reference: string;
  allowedPaymentTerms: readonly PaymentTerm[];
  redirectUrl: string;
  /** Where customers who do not complete the order go; null for the account's shop URL. */
  cancelUrl: string | null;
  webhookUrl: string | null;
  payLinkId: string;
  pricing: Pricing;
  createdAt: string;
}

/** The part of an order that changes during its life. Its workflow owns it. Times are ISO 8601 in UTC. */
export interface OrderState {
  /** 1 when created; each saved change adds one. */
  version: number;
  status: OrderStatus;
  cancelledAt: string | null;
  /** When the change that made this version was decided. */
  updatedAt: string;
  /** What made the order UNSUCCESSFUL; null in another status. */
  unsuccessfulReason: UnsuccessfulReason | null;
  /** When an order that is still open becomes UNSUCCESSFUL by itself; null if no expiry is configured. */
  expiresAt: string | null;
}

/** An order at one version. */
export interface Order extends OrderFacts, OrderState {}

/** An order as its workflow holds it: the state, and the facts that operators see in the Temporal UI. */
export interface WorkflowOrder
  extends OrderState, Pick<OrderFacts, 'id' | 'sellerName' | 'amountPence' | 'reference'> {}

/** Data that a shop attaches to its order. */
export interface Attachments {
  source: string | null;
  metaData: Record<string, unknown> | null;
}

/** The change that made `version`. */
export interface OrderChange {
  version: number;
  event: OrderEvent | 'created';
  from: OrderStatus | null;
  to: OrderStatus;
  actor: Actor;
  channel: Channel;
  reason: string | null;
  /** ISO 8601 in UTC. */
  at: string;
}

/** An order and all changes that led to its version, the first being `created`. */
export interface OrderHistory<T extends OrderState = Order> {
  order: T;
  changes: readonly OrderChange[];
}

/** An order and its changes, as its workflow holds them. Not Temporal's event history. */
export type WorkflowOrderHistory = OrderHistory<WorkflowOrder>;

export interface ChangeRequest {
  event: OrderEvent;
  actor: Actor;
  channel: Channel;
  reason: string | null;
  /** The request is refused unless the order has one of these versions. Omitted: any. */
  ifVersion?: readonly number[] | undefined;
}

/** The outcome of a change request: a changed order, a repeat of an earlier change, or a refusal. */
export type ChangeOutcome<T extends OrderState> =
  | {
      kind: 'change';
      next: OrderHistory<T>;
      /** The last one of `next`. */
      change: OrderChange;
      /** Of its webhook; null if sellers get none for it. */
      sequence: number | null;
    }
  | { kind: 'repeat' }
  | { kind: 'refused' };

/** The id of an order's workflow is this, followed by the order's id. */
export const WORKFLOW_ID_PREFIX = 'order-';

export const workflowId = (orderId: string): string => `${WORKFLOW_ID_PREFIX}${orderId}`;

/** Creates the history of a new order. */
export function createHistory(
  order: Omit<Order, 'updatedAt'>,
  by: Pick<OrderChange, 'actor' | 'channel'>,
): OrderHistory {
  return {
    order: { ...order, updatedAt: order.createdAt },
    changes: [{ version: 1, event: 'created', from: null, to: 'CREATED', ...by, reason: null, at: order.createdAt }],
  };
}

/** The part of a history that enters Temporal: no URL, no pay link. */
export function toWorkflowOrderHistory({ order, changes }: OrderHistory): WorkflowOrderHistory {
  const { id, sellerName, amountPence, reference } = order;
  return { order: { id, sellerName, amountPence, reference, ...toState(order) }, changes };
}

/** Names each field, because an order has further ones. */
function toState(state: OrderState): OrderState {
  const { version, status, cancelledAt, updatedAt, unsuccessfulReason, expiresAt } = state;
  return { version, status, cancelledAt, updatedAt, unsuccessfulReason, expiresAt };
}

/** The order with the facts of `order` and the state of `state`. */
export const withState = (order: Order, state: OrderState): Order => ({ ...order, ...toState(state) });

/** Classifies an event: it changes the order, repeats a change in its history, or is refused. */
export function classifyEvent(
  { order, changes }: OrderHistory<OrderState>,
  event: OrderEvent,
): ChangeOutcome<OrderState>['kind'] {
  if (changes.some((change) => change.event === event)) return 'repeat';
  return transition(order.status, event) ? 'change' : 'refused';
}

/**
 * Applies `request` to an order. Never throws.
 * @param now ISO 8601. If it is before the order's last change, that change's time is used: times never step back.
 */
export function decide<T extends OrderState>(
  history: OrderHistory<T>,
  { event, actor, channel, reason }: ChangeRequest,
  now: string,
): ChangeOutcome<T> {
  const kind = classifyEvent(history, event);
  if (kind !== 'change') return { kind };
  const { order, changes } = history;
  const to = transition(order.status, event) ?? order.status;
  const last = changes.at(-1)?.at ?? now;
  const at = now > last ? now : last;
  const version = order.version + 1;
  const change: OrderChange = { version, event, from: order.status, to, actor, channel, reason, at };
  const next = {
    order: {
      ...order,
      version,
      status: to,
      cancelledAt: event === 'cancel' ? at : order.cancelledAt,
      updatedAt: at,
      unsuccessfulReason: order.unsuccessfulReason ?? unsuccessfulReason(event, to),
    },
    changes: [...changes, change],
  };
  return { kind, next, change, sequence: isStatusChange(change) ? sequenceOf(next.changes, change) : null };
}

/** The first version at which two histories of an order differ; undefined if one continues the other. */
export function firstDifference(one: readonly OrderChange[], other: readonly OrderChange[]): number | undefined {
  return one.find((change, index) => {
    const own = other[index];
    return own && (change.version !== own.version || change.event !== own.event || change.at !== own.at);
  })?.version;
}

/** The state in which `change` left the order. */
export function stateAfter(
  { order, changes }: OrderHistory<OrderState>,
  { version, to: status, at }: OrderChange,
): OrderState {
  const ended = changes.find(({ to }) => to === 'UNSUCCESSFUL');
  const cancel = changes.find((change) => change.event === 'cancel' && change.version <= version);
  return {
    version,
    status,
    cancelledAt: cancel?.at ?? null,
    updatedAt: at,
    unsuccessfulReason: ended && ended.version <= version ? unsuccessfulReason(ended.event, ended.to) : null,
    expiresAt: order.expiresAt,
  };
}

/** True for a change that sellers get a webhook for: the status became another one, after CREATED. */
export function isStatusChange(change: OrderChange): boolean {
  return change.from !== null && change.from !== change.to;
}

/** The position of a change among the order's status changes, from 1 and without a gap. */
export function sequenceOf(changes: readonly OrderChange[], change: OrderChange): number {
  return changes.filter((other) => isStatusChange(other) && other.version <= change.version).length;
}
