import { type Offer, totalPence } from '../domain/application';
import { daysAfter, londonDate, monthsAfter } from '../domain/calendar';
import { formatPence } from '../../domain/money';
import type { PaymentTerm } from '../../domain/order';

const DATE = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'Europe/London' });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', timeZone: 'Europe/London' });
const TIME = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'Europe/London',
  timeZoneName: 'short',
});

/** A calendar date, or the London date of a point in time, such as `31 January 2027`. */
export function formatDate(date: string | Date): string {
  return DATE.format(new Date(date));
}

/** As `formatDate`, without the year if it is the current one: `31 January`. @param today a calendar date */
function formatDay(date: string | Date, today: string): string {
  const day = new Date(date);
  return (londonDate(day).slice(0, 4) === today.slice(0, 4) ? DAY : DATE).format(day);
}

/** London time, such as `31 January 2027 at 14:05 GMT`. */
export function formatDateTime(at: string | Date): string {
  return `${formatDate(at)} at ${TIME.format(new Date(at))}`;
}

/** London time of a deadline, such as `31 January, 14:05 GMT`, with the year if it is not the current one. */
export function formatDeadline(at: string | Date, now = new Date()): string {
  return `${formatDay(at, londonDate(now))}, ${TIME.format(new Date(at))}`;
}

export const PAYMENT_TERM_LABELS: Record<PaymentTerm, string> = { PAY_NOW: 'Pay now', PAY_LATER: 'Pay later' };

/** The repayments in one line: `3 monthly payments of £411.50`, or `3 monthly payments: 2 of £411.51, then £411.53`. */
export function describePayments({ instalments }: Offer): string {
  const amounts = instalments.map(({ amountPence }) => amountPence);
  const [first = 0, ...rest] = amounts;
  const [last = 0, ...start] = [...amounts].reverse();
  const count = amounts.length === 1 ? '1 monthly payment' : `${amounts.length} monthly payments`;
  if (areEqual(amounts)) return `${count} of ${formatPence(first)}`;
  if (areEqual(start)) return `${count}: ${several(start)}, then ${formatPence(last)}`;
  if (areEqual(rest)) return `${count}: ${formatPence(first)}, then ${several(rest)}`;
  return `${count}, from ${formatPence(Math.min(...amounts))} to ${formatPence(Math.max(...amounts))}`;
}

/** The price of paying later in one line: `0% interest, first due 21 December`. */
export function describeCost(offer: Offer, amountPence: number, today: string): string {
  const interestPence = totalPence(offer) - amountPence;
  const rate = offer.annualInterest === undefined ? '' : ` (${offer.annualInterest}% a year)`;
  const interest = interestPence === 0 ? '0% interest' : `${formatPence(interestPence)} interest${rate}`;
  const firstMonth = offer.instalments[0]?.dueInMonths ?? 1;
  return `${interest}, first due ${formatDay(monthsAfter(today, firstMonth), today)}`;
}

/**
 * `Spring offer: no interest until 31 January`
 * @param today the calendar date that interest starts on
 */
export function describePromotion({ promotion }: Offer, today: string): string | undefined {
  if (!promotion) return undefined;
  const { name, interestFreeDays } = promotion;
  return `${name}: no interest until ${formatDay(daysAfter(today, interestFreeDays), today)}`;
}

export function formatTotal(offer: Offer): string {
  return formatPence(totalPence(offer));
}

/** `2 of £411.50` */
const several = (amounts: readonly number[]): string =>
  `${amounts.length > 1 ? `${amounts.length} of ` : ''}${formatPence(amounts[0] ?? 0)}`;
const areEqual = (amounts: readonly number[]): boolean => amounts.every((amount) => amount === amounts[0]);

/** As much of an email address as its owner recognizes: `j…@bloggs.example`. */
export function maskEmail(email: string): string {
  return `${email.slice(0, 1)}…${email.slice(email.lastIndexOf('@'))}`;
}
