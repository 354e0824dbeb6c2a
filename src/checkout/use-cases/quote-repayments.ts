import type { Logger } from 'pino';
import type { RepaymentExampleBody } from '../../contracts/order-schemas';
import { Problem } from '../../contracts/problem';
import { penceToPounds } from '../../domain/money';
import type { Pricing } from '../../domain/order';
import { londonDate } from '../domain/calendar';
import { totalPence } from '../domain/application';
import { quoteOf } from '../lender/guard-lenders';
import type { Lenders } from '../lender/lender';

/**
 * Asks the lender of an account for the repayments of an amount today; undefined if the account has none.
 * @throws Problem `not_found` if its lender quotes none
 */
export function quoteRepayments(
  lenders: Lenders,
  { sandbox, pricing }: { sandbox: boolean; pricing: Pricing },
  amountPence: number,
  log: Logger,
): RepaymentExampleBody | undefined {
  const lender = lenders[sandbox ? 'sandbox' : 'live'];
  const offer = lender && quoteOf(lender, { amountPence, pricing }, londonDate(new Date()), log);
  if (!lender) return undefined;
  if (!offer) throw new Problem('not_found', 'The lender quotes no repayments for this amount at the moment.');
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
