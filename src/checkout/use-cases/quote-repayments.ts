import type { Logger } from 'pino';
import type { RepaymentExampleBody } from '../../contracts/order-schemas';
import { Problem, invalidRequest } from '../../contracts/problem';
import type { Db } from '../../db/pool';
import { formatPence, penceToPounds } from '../../domain/money';
import { isUuid } from '../../domain/text';
import { londonDate } from '../domain/calendar';
import { totalPence } from '../domain/application';
import { quoteOf } from '../lender/guard-lenders';
import type { Lenders } from '../lender/lender';
import { findSeller, notFound } from '../order-core';

/**
 * Calculates the repayments of an amount for customers of a seller today, before any order exists.
 * @throws Problem `not_found` if the seller does not exist, is disabled, or has no lender that quotes; `invalid_request`
 *   above the maximum amount of its orders
 */
export async function quoteRepayments(
  { db, lenders, log }: { db: Db; lenders: Lenders; log: Logger },
  sellerId: string,
  amountPence: number,
): Promise<RepaymentExampleBody> {
  const account = isUuid(sellerId) ? await findSeller(db, sellerId) : undefined;
  const lender = account && lenders[account.sandbox ? 'sandbox' : 'live'];
  if (!lender || account.disabledAt !== null) throw notFound('seller with repayments');
  const { maxOrderAmountPence: maximum, pricing } = account;
  if (maximum !== null && amountPence > maximum) {
    const detail = `must be at most ${formatPence(maximum)}, the limit of the account`;
    throw invalidRequest([{ code: 'too_big', detail, parameter: 'amount' }]);
  }
  const offer = quoteOf(lender, { amountPence, pricing }, londonDate(new Date()), log);
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
