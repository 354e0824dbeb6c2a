import { invalidRequest } from '../contracts/problem';
import type { RepaymentExampleBody } from '../contracts/order-schemas';
import { type Seller, findSeller } from '../db/sellers';
import { formatPence } from '../domain/money';
import { isUuid } from '../domain/text';
import type { OrderDependencies } from './dependencies';
import { notFound } from './read-order';

/** Returns the repayments of an amount today; undefined if customers of the account cannot pay later. */
export type QuoteRepayments = (
  account: Pick<Seller, 'sandbox' | 'pricing'>,
  amountPence: number,
) => RepaymentExampleBody | undefined;

/**
 * Calculates the repayments of an amount for customers of a seller, before any order exists.
 * @throws Problem `not_found` if the seller does not exist, is disabled, or has no lender; `invalid_request` above the
 *   maximum amount of its orders
 */
export async function retrieveRepaymentExample(
  { db }: Pick<OrderDependencies, 'db'>,
  quote: QuoteRepayments | undefined,
  sellerId: string,
  amountPence: number,
): Promise<RepaymentExampleBody> {
  const account = isUuid(sellerId) ? await findSeller(db, sellerId) : undefined;
  if (!account || account.disabledAt !== null) throw notFound('seller with repayments');
  const example = quote?.(account, amountPence);
  if (!example) throw notFound('seller with repayments');
  const { maxOrderAmountPence: maximum } = account;
  if (maximum !== null && amountPence > maximum) {
    const detail = `must be at most ${formatPence(maximum)}, the limit of the account`;
    throw invalidRequest([{ code: 'too_big', detail, parameter: 'amount' }]);
  }
  return example;
}
