import { closePaidPayment, hasCompletedOrder, recordPaymentStatus } from '../db/payments';
import type { DbClient } from '../../db/pool';
import type { Payment, PaymentStatus } from '../domain/payment';
import { type PaymentProviders, PaymentProviderUnavailable, providerOf } from './payment-provider';

/**
 * Cancels the payment of an order that is closed, or refunds it if it is paid already, unless it has completed the
 * order. A payment that the bank is still processing stays as it is; a later call refunds it.
 * @returns the status afterwards
 * @throws PaymentProviderUnavailable also if the provider contradicts itself
 */
export async function reversePayment(
  { db, payments }: { db: DbClient; payments: PaymentProviders },
  { id, orderId, sandbox, status: recorded }: Payment,
): Promise<PaymentStatus> {
  const provider = providerOf(payments, sandbox);
  const found = await provider.cancel(id);
  if (recorded === 'paid' && found !== 'paid' && found !== 'refunded') {
    throw new PaymentProviderUnavailable(`the payment provider has reported the payment as paid, and now as ${found}`);
  }
  const isOwed = found === 'paid' && !(await hasCompletedOrder(db, id));
  if (isOwed) await provider.refund(id);
  const status = isOwed ? 'refunded' : found;
  await recordPaymentStatus(db, id, status);
  if (status === 'paid') await closePaidPayment(db, orderId);
  return status;
}
