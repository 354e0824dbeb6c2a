export const ORDER_STATUSES = ['CREATED', 'PENDING', 'APPROVED', 'SUCCESSFUL', 'UNSUCCESSFUL'] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** The events that a checkout flow can report about its customer. */
export const PROGRESS_EVENTS = ['signup_started', 'approved', 'declined', 'completed', 'failed'] as const;
export type ProgressEvent = (typeof PROGRESS_EVENTS)[number];

export const ORDER_EVENTS = [...PROGRESS_EVENTS, 'expired', 'cancel'] as const;
export type OrderEvent = (typeof ORDER_EVENTS)[number];

export const ACTORS = ['seller', 'customer', 'checkout', 'operator', 'system'] as const;
export type Actor = (typeof ACTORS)[number];

/**
 * How the request was made. `portal`: the seller's page. `hosted_checkout`: its page, or its workflow after a decision of
 * the lender or the bank. `workflow`: the order's workflow made it itself, for its expiry. `temporal`: a person or a
 * program sent it to the workflow through Temporal.
 */
export const CHANNELS = ['api', 'portal', 'hosted_checkout', 'cli', 'workflow', 'temporal'] as const;
export type Channel = (typeof CHANNELS)[number];

/** In characters: of the reason that a request gives. */
export const MAX_REASON_LENGTH = 500;

/** The only transition table: event -> status before -> status after. All other transitions are refused. */
export const TRANSITIONS = {
  signup_started: { CREATED: 'PENDING' },
  approved: { PENDING: 'APPROVED' },
  declined: { PENDING: 'UNSUCCESSFUL' },
  completed: { APPROVED: 'SUCCESSFUL' },
  failed: { CREATED: 'UNSUCCESSFUL', PENDING: 'UNSUCCESSFUL', APPROVED: 'UNSUCCESSFUL' },
  expired: { CREATED: 'UNSUCCESSFUL', PENDING: 'UNSUCCESSFUL', APPROVED: 'UNSUCCESSFUL' },
  cancel: {
    CREATED: 'UNSUCCESSFUL',
    PENDING: 'UNSUCCESSFUL',
    APPROVED: 'UNSUCCESSFUL',
    UNSUCCESSFUL: 'UNSUCCESSFUL',
  },
} as const satisfies Record<OrderEvent, Partial<Record<OrderStatus, OrderStatus>>>;

/** What makes an order UNSUCCESSFUL. */
export const UNSUCCESSFUL_REASONS = ['declined', 'failed', 'expired', 'cancelled'] as const;
type UnsuccessfulReason = (typeof UNSUCCESSFUL_REASONS)[number];

/** The reason if `event` has made an order UNSUCCESSFUL: the event itself, or `cancelled` for a cancel. */
export function unsuccessfulReason(event: string): UnsuccessfulReason {
  return UNSUCCESSFUL_REASONS.find((reason) => reason === event) ?? 'cancelled';
}

/** Returns the status after `event`, or undefined if the event is refused in this status. */
export function transition(status: OrderStatus, event: OrderEvent): OrderStatus | undefined {
  const row: Partial<Record<OrderStatus, OrderStatus>> = TRANSITIONS[event];
  return row[status];
}

/** A final status ends the order's life; only `cancelled_at` may still be set on an UNSUCCESSFUL one. */
export function isFinal(status: OrderStatus): boolean {
  return status === 'SUCCESSFUL' || status === 'UNSUCCESSFUL';
}

/** Orders expire at most this long after now: a year, also one with a leap day. */
export const MAX_EXPIRY_DAYS = 366;

export const PAYMENT_TERMS = ['PAY_NOW', 'PAY_LATER'] as const;
export type PaymentTerm = (typeof PAYMENT_TERMS)[number];

/**
 * The highest yearly interest in percent, and the most interest-free days of a promotion. What is above is a mistake of
 * the unit, such as 990 for 9.9.
 */
export const MAX_INTEREST_PERCENT = 100;
export const MAX_INTEREST_FREE_DAYS = 3660;

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

/** What an order is about. It never changes, and Postgres owns it. */
export interface OrderFacts {
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
  /** The client that created the order; null if it is unknown. */
  source: string | null;
  /** What the shop attached to its order. */
  metaData: Record<string, unknown> | null;
}

/** The life of an order. Its workflow owns it. Times are ISO 8601 in UTC. */
export interface OrderState {
  /** 1 when created; each saved change adds one. */
  version: number;
  status: OrderStatus;
  createdAt: string;
  /** When the change that made this version was decided. */
  updatedAt: string;
  /** When an order that is still open becomes UNSUCCESSFUL by itself; null if no expiry is configured. */
  expiresAt: string | null;
  cancelledAt: string | null;
  /** When it became SUCCESSFUL; null in another status. */
  completedAt: string | null;
  /** What made the order UNSUCCESSFUL; null in another status. */
  unsuccessfulReason: UnsuccessfulReason | null;
  /** How the customer pays, as last reported with an event; null before. */
  paymentTerm: PaymentTerm | null;
  /** All changes that led to this version. The first one is `created`. */
  changes: readonly OrderChange[];
}

/** How the seller is paid for a SUCCESSFUL order, as the lender or the bank names it. */
export interface Settlement {
  /** By which the seller finds the payout. */
  reference: string;
  /** What is deducted from the amount. */
  feePence: number;
  /** ISO 8601. */
  payoutDate: string;
}

/** An order at one version. */
export interface Order extends OrderFacts, OrderState {
  /** Null until it is known. It changes no version: it can come long after the last change. */
  settlement: Settlement | null;
}

/** The settlement, as sellers see it. It may be known before the order completes, which it then may not. */
export const settlementOf = ({ status, settlement }: Order): Settlement | null =>
  status === 'SUCCESSFUL' ? settlement : null;

/** The change that made `version`. */
export interface OrderChange {
  version: number;
  event: OrderEvent | 'created';
  from: OrderStatus | null;
  to: OrderStatus;
  actor: Actor;
  channel: Channel;
  reason: string | null;
  /** How the customer pays, if it was reported with the event. */
  paymentTerm: PaymentTerm | null;
  /** ISO 8601 in UTC. */
  at: string;
}

/**
 * The request, or the CLI command, that work is done for. It is passed on with a change to the workflow and its save, for
 * logs and traces.
 */
export interface RequestContext {
  requestId?: string | undefined;
  /** W3C Trace Context: of the caller, if it sent a valid one, or of our own span. */
  traceparent?: string | undefined;
}

export interface ChangeRequest {
  event: OrderEvent;
  actor: Actor;
  channel: Channel;
  reason: string | null;
  paymentTerm?: PaymentTerm | undefined;
  /** The request is refused unless the order has one of these versions. Omitted: any. */
  ifVersion?: readonly number[] | undefined;
  /** What the change is made for. */
  context?: RequestContext | undefined;
}

/** The change that creates an order. Sellers do, through the API. */
export const creation = (at: string): OrderChange => ({
  version: 1,
  event: 'created',
  from: null,
  to: 'CREATED',
  actor: 'seller',
  channel: 'api',
  reason: null,
  paymentTerm: null,
  at,
});

/** The state to which changes have led. It has no fact: no URL and no pay link. @param changes at least `created` */
export function stateOf(changes: readonly OrderChange[], expiresAt: string | null): OrderState {
  const [created] = changes;
  const last = changes.at(-1);
  if (!created || !last) throw new Error('an order has the change that created it');
  const end = changes.find(({ to }) => to === 'UNSUCCESSFUL');
  return {
    version: last.version,
    status: last.to,
    createdAt: created.at,
    updatedAt: last.at,
    expiresAt,
    cancelledAt: changes.find(({ event }) => event === 'cancel')?.at ?? null,
    completedAt: changes.find(({ to }) => to === 'SUCCESSFUL')?.at ?? null,
    unsuccessfulReason: end ? unsuccessfulReason(end.event) : null,
    paymentTerm: changes.findLast(({ paymentTerm }) => paymentTerm)?.paymentTerm ?? null,
    changes,
  };
}

/** The order after a further change. */
export const withChange = <T extends OrderState>(order: T, change: OrderChange): T => ({
  ...order,
  ...stateOf([...order.changes, change], order.expiresAt),
});

/** Classifies an event: it changes the order, repeats one of its changes, or is refused. */
export function classifyEvent(
  { status, changes }: Pick<OrderState, 'status' | 'changes'>,
  event: OrderEvent,
): 'change' | 'repeat' | 'refused' {
  if (changes.some((change) => change.event === event)) return 'repeat';
  return transition(status, event) ? 'change' : 'refused';
}

/**
 * True unless the request names other versions than the order has. A repeat of a request that was made is for the
 * version before its change too (RFC 9110 section 13.1.1): whoever lost the response may send it again.
 */
export function isForVersion(
  { version, changes }: Pick<OrderState, 'version' | 'changes'>,
  { event, ifVersion }: { event: string; ifVersion?: readonly number[] | undefined },
): boolean {
  const made = changes.find((change) => change.event === event);
  return ifVersion?.some((one) => one === version || one + 1 === made?.version) ?? true;
}

/**
 * Decides on a request. Never throws. Workflows replay it: a new rule needs a patch (docs/contributors/releases.md).
 * @param now ISO 8601. If it is before the order's last change, that change's time is used: times never step back.
 * @returns the change that it makes; `repeat` if it changes nothing, because an earlier change has its event
 */
export function decide(
  order: OrderState,
  { event, actor, channel, reason, paymentTerm }: ChangeRequest,
  now: string,
): OrderChange | 'repeat' | 'refused' {
  const kind = classifyEvent(order, event);
  if (kind !== 'change') return kind;
  const { version, status: from, updatedAt } = order;
  const to = transition(from, event) ?? from;
  const at = now > updatedAt ? now : updatedAt;
  return { version: version + 1, event, from, to, actor, channel, reason, paymentTerm: paymentTerm ?? null, at };
}

/** True for a change that sellers get a webhook for: the status became another one, after CREATED. */
export function isStatusChange(change: OrderChange): boolean {
  return change.from !== null && change.from !== change.to;
}

/** The position of a change among the order's status changes, from 1 and without a gap. */
export function sequenceOf(changes: readonly OrderChange[], change: OrderChange): number {
  return changes.filter((other) => isStatusChange(other) && other.version <= change.version).length;
}
