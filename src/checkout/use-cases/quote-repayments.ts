import type { RepaymentExampleBody } from '../../contracts/order-schemas';
import { penceToPounds } from '../../domain/money';
import type { Pricing } from '../../domain/order';
import { londonDate } from '../domain/calendar';
import { totalPence } from '../domain/application';
import type { Lenders } from '../lender/lender';

/** Asks the lender of an account for the repayments of an amount today; undefined if the account has none. */
export function quoteRepayments(
  lenders: Lenders,
  { sandbox, pricing }: { sandbox: boolean; pricing: Pricing },
  amountPence: number,
): RepaymentExampleBody | undefined {
  const offer = lenders[sandbox ? 'sandbox' : 'live']?.quote({ amountPence, pricing }, londonDate(new Date()));
  if (!offer) return undefined;
  const { instalments, annualInterest, promotion } = offer;
  return {
    amount: penceToPounds(amountPence),
    instalments: instalments.map((one) => ({
      due_in_months: one.dueInMonths,
      amount: penceToPounds(one.amountPence),
    })),
    total_amount: penceToPounds(totalPence(offer)),
    ...(annualInterest !== undefined && { annual_interest: annualInterest }),
    ...(promotion && { promotion: { name: promotion.name, interest_free_days: promotion.interestFreeDays } }),
  };
}
