import type { Instalment, Offer } from '../domain/application';
import { daysBetween, monthsAfter } from '../domain/calendar';
import type { Pricing, Promotion } from '../../domain/order';

const DAYS_PER_YEAR = 365;

/**
 * Repays an amount in equal monthly instalments of at least one penny each. The last one includes the pence that rounding
 * leaves. Interest accrues daily on the outstanding amount, except on days that a promotion makes interest-free, and is
 * added to that amount on each due date.
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
  const promotion = bestPromotion(pricing, today);
  const freeDays = promotion?.interestFreeDays ?? 0;
  const dueDay = (months: number): number => daysBetween(today, monthsAfter(today, months));
  /** By what the outstanding amount grows in each month. */
  const growths = Array.from({ length: count }, (_, month) => {
    const chargedDays = Math.max(dueDay(month + 1) - Math.max(dueDay(month), freeDays), 0);
    return 1 + (pricing.representativeInterest * chargedDays) / (100 * DAYS_PER_YEAR);
  });
  /** What is owed at the end, if `part` is paid after each month but the last. */
  const owedAfter = (owed: number, part: number): number =>
    growths.reduce((left, growth, month) => left * growth - (month < count - 1 ? part : 0), owed);
  // The `part` that is owed at the end, too: part = owedAfter(amount, 0) - part * owedAfter(0, -1).
  const equalPart = Math.floor(owedAfter(amountPence, 0) / (1 + owedAfter(0, -1)));
  const instalments: Instalment[] = growths.map((_, month) => ({
    dueInMonths: month + 1,
    amountPence: month < count - 1 ? equalPart : Math.round(owedAfter(amountPence, equalPart)),
  }));
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
