import type { Instalment, Offer } from '../domain/application';
import { daysBetween, monthsAfter } from '../domain/calendar';
import type { Pricing } from '../domain/order';

const DAYS_A_YEAR = 365;

/**
 * Equal monthly parts of an amount; the pence that don't divide go with the first, and no part is without any. Interest
 * accrues by the day on what is still owed, but for the days that a promotion makes free, and comes with the last part.
 * @param today the calendar date that the interest is reckoned from
 */
export function monthlyInstalments(amountPence: number, most: number, today: string, pricing: Pricing): Offer {
  const parts = Math.min(most, amountPence);
  const part = Math.floor(amountPence / parts);
  const freeDays = interestFreeDays(pricing, today);
  const instalments: Instalment[] = [];
  let owed = amountPence;
  let interest = 0;
  let passed = 0;
  for (let month = 1; month <= parts; month++) {
    const until = daysBetween(today, monthsAfter(today, month));
    const days = Math.max(until - Math.max(passed, freeDays), 0);
    interest += (owed * pricing.representativeInterest * days) / (100 * DAYS_A_YEAR);
    const amount = month === 1 ? amountPence - part * (parts - 1) : part;
    instalments.push({ dueInMonths: month, amountPence: amount });
    owed -= amount;
    passed = until;
  }
  const interestPence = Math.round(interest);
  const last = instalments.at(-1);
  if (last) last.amountPence += interestPence;
  return { instalments, interestPence };
}

/** The best of the promotions that still run. */
function interestFreeDays({ promotions }: Pricing, today: string): number {
  const running = promotions.filter(({ validUntil }) => validUntil >= today);
  return Math.max(0, ...running.map((promotion) => promotion.interestFreeDays));
}
