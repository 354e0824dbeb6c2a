import type { PaymentTerm, Pricing } from '../domain/order';
import { londonDate } from '../lender/london-date';

const DATE = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'Europe/London' });
const TIME = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'Europe/London' });

/** A calendar date, or the London date of a point in time, such as `31 January 2027`. */
export function formatDate(date: string | Date): string {
  return DATE.format(new Date(date));
}

/** London time, such as `31 January 2027 at 14:05`. */
export function formatDateTime(at: string | Date): string {
  return `${formatDate(at)} at ${TIME.format(new Date(at))}`;
}

export const PAYMENT_TERM_LABELS: Record<PaymentTerm, string> = { PAY_NOW: 'Pay now', PAY_LATER: 'Pay later' };

/** The cost of paying later, one sentence per item. Promotions that have ended are left out. */
export function describeInterest({ representativeInterest, promotions }: Pricing, now: Date): string[] {
  if (representativeInterest === 0) return ['No interest. You repay only the order amount.'];
  const today = londonDate(now);
  const running = promotions.filter(({ validUntil }) => validUntil >= today);
  return [
    `Representative interest: ${representativeInterest}% a year.`,
    ...running.map(
      ({ name, interestFreeDays: days, validUntil }) =>
        `${name}: no interest for the first ${days === 1 ? 'day' : `${days} days`}, if you are approved by ${formatDate(validUntil)}.`,
    ),
  ];
}
