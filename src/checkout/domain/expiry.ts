import type { Application } from './application';

/**
 * How long a step of the checkout holds the expiry of its order: an agreement, a check of a payment, or a call to the
 * lender. While a step repeats, each time holds it again, and the next one comes within about a minute.
 */
const HOLD_MS = 6 * 60_000;
/** A shorter decision does not move the expiry. */
const LEAST_DECISION_MS = 60_000;

export type Expiring = { expiresAt: string | null };
export type Decided = Pick<Application, 'submitted' | 'decidedAt'> | undefined;

/**
 * When an order expires, in ms since 1970: the time that the lender takes does not count. Infinity for an order that
 * does not expire.
 */
export function expiryOf({ expiresAt }: Expiring, application: Decided, nowMs: number): number {
  if (expiresAt === null) return Infinity;
  const { submitted, decidedAt } = application ?? {};
  const decisionMs = submitted ? (decidedAt?.getTime() ?? nowMs) - submitted.at.getTime() : 0;
  return Date.parse(expiresAt) + (decisionMs < LEAST_DECISION_MS ? 0 : decisionMs);
}

/**
 * Until when the expiry of an order has to be held while its customer agrees or pays, or the lender decides; undefined if
 * it need not be held. A hold never ends before an earlier one that the lender's decision has caused.
 * @param waitMs the time until the next attempt at the step, in addition to the usual minute
 */
export function holdUntil(order: Expiring, application: Decided, nowMs: number, waitMs = 0): Date | undefined {
  if (order.expiresAt === null) return undefined;
  const until = Math.max(nowMs + waitMs + HOLD_MS, expiryOf(order, application, nowMs));
  return Date.parse(order.expiresAt) < until ? new Date(until) : undefined;
}
