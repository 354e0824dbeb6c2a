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
 * How the request was made. `hosted_checkout`: its page, or its workflow after a decision of the lender or the bank.
 * `workflow`: the order's workflow made it itself, for its expiry. `temporal`: a person or a program sent it to the
 * workflow through Temporal.
 */
export const CHANNELS = ['api', 'hosted_checkout', 'cli', 'workflow', 'temporal'] as const;
export type Channel = (typeof CHANNELS)[number];

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
export type UnsuccessfulReason = (typeof UNSUCCESSFUL_REASONS)[number];

/** The reason if `event` has made an order UNSUCCESSFUL. */
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

export function isProgressEvent(value: unknown): value is ProgressEvent {
  return PROGRESS_EVENTS.includes(value as ProgressEvent);
}
