import { isProblem } from '../../contracts/problem';
import { readClock } from '../../db/clock';
import { insertPayment, recordPaymentStatus } from '../db/payments';
import { expiryOf } from '../domain/expiry';
import { PAID_HOLD_MS, REPORT_WITHIN_MS, holdExpiry } from './hold-expiry';
import { type Payment, isCurrent, isInProgress } from '../domain/payment';
import { isFinal } from '../../domain/order';
import { PaymentProviderUnavailable, providerOf } from '../payments/payment-provider';
import { refreshPayment } from '../payments/settle-payment';
import type { Checkout } from '../domain/checkout';
import type { CheckoutDependencies } from './read-checkout';
import { proceed } from './application';

/**
 * Records a payment, unless one is in progress or paid, and has the checkout's workflow check it until the bank has
 * decided, whatever the customer's browser does. The order does not expire meanwhile. `startAtBank` then starts it at
 * the bank. Does nothing once the expiry is due.
 * @param browser its digest will own the payment; an application that was submitted must belong to one of `ownDigests`
 */
export async function createPayment(
  deps: CheckoutDependencies,
  checkout: Checkout,
  bank: string,
  browser: { browserDigest: Buffer; ownDigests: readonly Buffer[] },
): Promise<void> {
  const { order, application } = checkout;
  // Otherwise, repeated attempts to pay would hold the expiry for ever.
  const now = (await readClock(deps.db)).getTime();
  if (expiryOf(order, application, now) <= now) return;
  await holdExpiry(deps, checkout);
  if (!(await insertPayment(deps.db, order.id, bank, browser))) return;
  // No worker renews the hold then.
  if (!(await proceed(deps, order))) await holdExpiry(deps, checkout, REPORT_WITHIN_MS);
}

/**
 * Starts a payment at the bank, if it has not been started.
 * @param returnUrl where the bank sends the customer afterwards
 * @returns the address of the bank's page for the payment
 * @throws PaymentProviderUnavailable
 */
export async function startAtBank(
  { payments }: CheckoutDependencies,
  { id, bank }: Payment,
  { order }: Checkout,
  returnUrl: string,
): Promise<string> {
  const { amountPence, reference, sellerName: payee } = order;
  return providerOf(payments, order.sandbox).start({ id, bank, amountPence, payee, reference, returnUrl });
}

/** Cancels a payment that the customer has not approved, so that another one can be started. */
export async function cancelPayment({ db, payments }: CheckoutDependencies, { payment }: Checkout): Promise<void> {
  if (payment?.status !== 'pending') return;
  const status = await providerOf(payments, payment.sandbox).cancel(payment.id);
  await recordPaymentStatus(db, payment.id, status);
}

/**
 * Asks the payment provider about the payment of an open order, if its result is not known, and completes a paid order. If
 * the provider or the workflow is unavailable, the checkout's workflow does it later, as without this call.
 * @returns true if the checkout has to be read again
 */
export async function checkPayment(deps: CheckoutDependencies, checkout: Checkout): Promise<boolean> {
  const { order, payment } = checkout;
  if (!payment || isFinal(order.status) || !isCurrent(payment.status)) return false;
  try {
    const status = await refreshPayment(deps, payment);
    if (status === 'paid') {
      await holdExpiry(deps, checkout, PAID_HOLD_MS);
      await deps.core.report(order.id, 'approved', { actor: 'checkout', paymentTerm: 'PAY_NOW' });
      await deps.core.report(order.id, 'completed', { paymentTerm: 'PAY_NOW' });
    } else if (!isInProgress(status)) {
      // If the bank has reported it as paid meanwhile, the workflow refunds it.
      await proceed(deps, order);
    }
    return true;
  } catch (error) {
    const isExpected = isProblem(error, 'service_unavailable');
    if (!isExpected && !(error instanceof PaymentProviderUnavailable)) throw error;
    deps.log.warn({ order_id: order.id, err: error }, 'a payment could not be checked, retrying later');
    return true;
  }
}
