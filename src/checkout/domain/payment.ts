/**
 * `pending`: the customer has not approved it at the bank. `processing`: approved, and the bank has not confirmed it.
 * `refused`: the bank did not pay. `cancelled`: nobody approved it. `refunded`: it was paid, and the money was sent
 * back.
 */
export type PaymentStatus = 'pending' | 'processing' | 'paid' | 'refused' | 'cancelled' | 'refunded';

/** A payment that nobody has approved is cancelled after this time. */
export const APPROVE_WITHIN_MS = 15 * 60_000;

/** A payment of an order at the customer's bank. */
export interface Payment {
  /** The id that the payment provider knows the payment by. */
  id: string;
  orderId: string;
  /** The bank that the customer chose, as the payment provider names it. */
  bank: string;
  status: PaymentStatus;
  /** When the bank first reported that the customer has approved it. */
  approvedAt: Date | null;
  /** Time since the start, in ms, by the clock of Postgres. */
  ageMs: number;
  /** True while something is left to do: the payment is in progress or paid, or has to be refunded. */
  isOpen: boolean;
  /** True if the order is one of a sandbox account. */
  sandbox: boolean;
}

/** True while the payment may still become paid. */
export function isInProgress(status: PaymentStatus): boolean {
  return status === 'pending' || status === 'processing';
}

/** True if the payment is in progress or paid. An order has at most one such payment. */
export function isCurrent(status: PaymentStatus): boolean {
  return isInProgress(status) || status === 'paid';
}
