import { findPaymentStatus, recordPaymentStatus } from '../db/payments';
import type { DbClient } from '../../db/pool';
import { type Payment, type PaymentStatus, APPROVE_WITHIN_MS, isCurrent, isInProgress } from '../domain/payment';
import { type PaymentProvider, type PaymentProviders, providerOf } from './payment-provider';

/**
 * Asks the payment provider about a payment in progress, and records its status. A payment that nobody has approved in
 * time is cancelled. One that turns out to be paid after it was recorded as over is refunded: its customer was told that
 * no money was taken, and may have paid again.
 * @returns the status afterwards
 * @throws PaymentProviderUnavailable
 */
export async function refreshPayment(
  { db, payments }: { db: DbClient; payments: PaymentProviders },
  payment: Payment,
): Promise<PaymentStatus> {
  const { id, status, sandbox } = payment;
  const latest = isInProgress(status) ? await statusOf(providerOf(payments, sandbox), payment) : status;
  await recordPaymentStatus(db, id, latest);
  if (latest !== 'paid') return latest;
  const recorded = await findPaymentStatus(db, id);
  if (!recorded || isCurrent(recorded)) return latest;
  if (recorded !== 'refunded') await providerOf(payments, sandbox).refund(id);
  return recorded;
}

async function statusOf(provider: PaymentProvider, { id, ageMs }: Payment): Promise<PaymentStatus> {
  const status = await provider.statusOf(id);
  // The bank does not know a payment whose customer never reached it, so it would stay pending forever.
  return status === 'pending' && ageMs > APPROVE_WITHIN_MS ? provider.cancel(id) : status;
}
