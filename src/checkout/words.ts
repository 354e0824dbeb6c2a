import { londonDate } from '../lender/london-date';
import type { Branding } from '../db/branding';
import type { Order, PaymentTerm, Pricing } from '../domain/order';

const DATE = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'Europe/London' });
const TIME = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'Europe/London' });

/** `31 January 2027`, of a calendar date or of a moment as it is in London. */
export function formatDate(date: string | Date): string {
  return DATE.format(new Date(date));
}

/** `31 January 2027 at 14:05`, in London. */
export function formatMoment(at: string | Date): string {
  return `${formatDate(at)} at ${TIME.format(new Date(at))}`;
}

/** Where a customer goes back to who has completed nothing: the redirect address is where completed orders lead, and no other. */
export function shopOf({ redirectUrl }: Order, { shopUrl }: Branding): string {
  return shopUrl ?? `${new URL(redirectUrl).origin}/`;
}

export const TERM_NAMES: Record<PaymentTerm, string> = { PAY_NOW: 'Pay now', PAY_LATER: 'Pay later' };

/** What paying later costs, a sentence a line; promotions that have ended are left out. */
export function interestSentences({ representativeInterest, promotions }: Pricing, now: Date): string[] {
  if (representativeInterest === 0) return ['No interest: you repay what the order costs.'];
  const today = londonDate(now);
  const running = promotions.filter(({ validUntil }) => validUntil >= today);
  return [
    `Representative interest: ${representativeInterest}% a year.`,
    ...running.map(
      ({ name, interestFreeDays: days, validUntil }) =>
        `${name}: no interest for the first ${days === 1 ? 'day' : `${days} days`}, if you start by ${formatDate(validUntil)}.`,
    ),
  ];
}
