import type { Instalment, Offer } from '../domain/application';
import type { Pricing } from '../domain/order';

const DAY_MS = 86_400_000;
const DAYS_A_YEAR = 365;

/**
 * Equal monthly parts of an amount, the first a month from `start`; the pence that don't divide go with the first.
 * Interest accrues by the day on what is still owed, but for the days that a promotion makes free, and comes with the
 * last part.
 * @param start a calendar date in UTC
 */
export function monthlyInstalments(amountPence: number, parts: number, start: Date, pricing: Pricing): Offer {
  const part = Math.floor(amountPence / parts);
  const freeUntil = monthsAfter(start, 0).getTime() + interestFreeDays(pricing, start) * DAY_MS;
  const instalments: Instalment[] = [];
  let owed = amountPence;
  let interest = 0;
  for (let month = 1; month <= parts; month++) {
    const from = Math.max(monthsAfter(start, month - 1).getTime(), freeUntil);
    const to = monthsAfter(start, month).getTime();
    const days = Math.max(Math.round((to - from) / DAY_MS), 0);
    interest += (owed * pricing.representativeInterest * days) / (100 * DAYS_A_YEAR);
    const due = month === 1 ? amountPence - part * (parts - 1) : part;
    instalments.push({ due: toDate(monthsAfter(start, month)), amountPence: due });
    owed -= due;
  }
  const interestPence = Math.round(interest);
  const last = instalments.at(-1);
  if (last) last.amountPence += interestPence;
  return { instalments, interestPence };
}

/** The best of the promotions that still run. */
function interestFreeDays({ promotions }: Pricing, start: Date): number {
  const running = promotions.filter(({ validUntil }) => validUntil >= toDate(start));
  return Math.max(0, ...running.map((promotion) => promotion.interestFreeDays));
}

/** The same day of a later month, or that month's last one. */
function monthsAfter(start: Date, months: number): Date {
  const [year, month, day] = [start.getUTCFullYear(), start.getUTCMonth() + months, start.getUTCDate()];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return new Date(Date.UTC(year, month, Math.min(day, lastDay)));
}

function toDate(date: Date): string {
  return date.toISOString().slice(0, 10);
}
