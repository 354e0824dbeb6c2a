import type { DbClient } from '../../db/pool';
import { closePaidPayment, findPaymentStatus, hasCompletedOrder, recordPaymentStatus } from '../db/payments';
import { type Payment, type PaymentStatus, APPROVE_WITHIN_MS, isCurrent, isInProgress } from '../domain/payment';
import type { OrderCore } from '../order-core';
import {
  PaymentProviderUnavailable,
  providerOf,
  type PaymentProvider,
  type PaymentProviders,
} from './payment-provider';

/**
 * Asks the payment provider about a payment in progress, and records its status. A payment that nobody has approved in
 * time is cancelled. One that turns out to be paid after it was recorded as refused or cancelled stays so, and is open
 * until `reversePayment` has refunded it: its customer was told that no money was taken, and may have paid again. Of a
 * paid one, the settlement is recorded if it is known, so that the webhook of the completion has it.
 * @returns the status afterwards
 * @throws PaymentProviderUnavailable
 */
export async function refreshPayment(
  { db, payments, core }: { db: DbClient; payments: PaymentProviders; core: Pick<OrderCore, 'recordSettlement'> },
  payment: Payment,
): Promise<PaymentStatus> {
  const { id, orderId, status, sandbox } = payment;
  const provider = providerOf(payments, sandbox);
  const latest = isInProgress(status) ? await statusOf(provider, payment) : status;
  // Whatever fails is asked again later.
  const settlement = latest === 'paid' ? await provider.settlementOf?.(id).catch(() => undefined) : undefined;
  if (settlement) await core.recordSettlement(orderId, settlement);
  await recordPaymentStatus(db, id, latest);
  const recorded = (await findPaymentStatus(db, id)) ?? latest;
  // One that is paid after its order was completed in another way is not recorded as paid.
  return latest === 'paid' && isCurrent(recorded) ? latest : recorded;
}

async function statusOf(provider: PaymentProvider, { id, ageMs }: Payment): Promise<PaymentStatus> {
  const status = await provider.statusOf(id);
  // The bank does not know a payment whose customer never reached it, so it would stay pending forever.
  return status === 'pending' && ageMs > APPROVE_WITHIN_MS ? provider.cancel(id) : status;
}

/**
 * Cancels the payment of an order that is closed, or refunds it if it is paid already, unless it has completed the
 * order. Refunds one that was recorded as over before the bank reported it as paid, whatever its order is. A payment
 * that the bank is still processing stays as it is; a later call refunds it.
 * @returns the status afterwards
 * @throws PaymentProviderUnavailable also if the provider contradicts itself
 */
export async function reversePayment(
  { db, payments }: { db: DbClient; payments: PaymentProviders },
  { id, orderId, sandbox, status: recorded }: Payment,
): Promise<PaymentStatus> {
  const provider = providerOf(payments, sandbox);
  const found = await provider.cancel(id);
  if (!isInProgress(recorded) && found !== 'paid' && found !== 'refunded') {
    throw new PaymentProviderUnavailable(`the payment provider has reported the payment as paid, and now as ${found}`);
  }
  // Before the refund, which may fail: another process may have recorded the payment as over meanwhile.
  await recordPaymentStatus(db, id, found);
  const isOwed = found === 'paid' && !(isCurrent(recorded) && (await hasCompletedOrder(db, id)));
  if (isOwed) {
    await provider.refund(id);
    await recordPaymentStatus(db, id, 'refunded');
  }
  if (found === 'paid' && !isOwed) await closePaidPayment(db, orderId);
  return isOwed ? 'refunded' : found;
}
