import type { Instalment, Offer } from '../domain/application';
import { daysBetween, monthsAfter } from '../domain/calendar';
import type { Pricing, Promotion } from '../../domain/order';

const DAYS_PER_YEAR = 365;

/**
 * Splits an amount into equal monthly instalments of at least one penny each. The first one includes the pence that do
 * not divide. Interest accrues daily on the outstanding amount, except on days that a promotion makes interest-free,
 * and is added to the last instalment.
 * @param maxInstalments fewer are offered if the amount has fewer pence
 * @param today the calendar date that interest starts on
 */
export function monthlyInstalments(
  amountPence: number,
  maxInstalments: number,
  today: string,
  pricing: Pricing,
): Offer {
  const count = Math.min(maxInstalments, amountPence);
  const equalPart = Math.floor(amountPence / count);
  const promotion = bestPromotion(pricing, today);
  const freeDays = promotion?.interestFreeDays ?? 0;
  const instalments: Instalment[] = [];
  let outstanding = amountPence;
  let interest = 0;
  let previousDay = 0;
  for (let month = 1; month <= count; month++) {
    const dueDay = daysBetween(today, monthsAfter(today, month));
    const chargedDays = Math.max(dueDay - Math.max(previousDay, freeDays), 0);
    interest += (outstanding * pricing.representativeInterest * chargedDays) / (100 * DAYS_PER_YEAR);
    const part = month === 1 ? amountPence - equalPart * (count - 1) : equalPart;
    instalments.push({ dueInMonths: month, amountPence: part });
    outstanding -= part;
    previousDay = dueDay;
  }
  const last = instalments.at(-1);
  if (last) last.amountPence += Math.round(interest);
  const offer = { instalments, annualInterest: pricing.representativeInterest };
  if (!promotion || pricing.representativeInterest === 0) return offer;
  const { name, interestFreeDays } = promotion;
  return { ...offer, promotion: { name, interestFreeDays } };
}

/** The running promotion with the most interest-free days. */
function bestPromotion({ promotions }: Pricing, today: string): Promotion | undefined {
  return promotions
    .filter(({ validUntil }) => validUntil >= today)
    .reduce<Promotion | undefined>(
      (best, one) => (best && best.interestFreeDays >= one.interestFreeDays ? best : one),
      undefined,
    );
}
