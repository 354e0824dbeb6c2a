import { isProblem } from '../contracts/problem';
import { hasCompletedOrder, insertPayment, recordPaymentStatus } from '../db/payments';
import type { Db } from '../db/pool';
import { type Payment, type PaymentStatus, isInProgress } from '../domain/payment';
import { isFinal } from '../domain/status';
import { type PaymentProviders, PaymentProviderUnavailable, providerOf } from '../payments/payment-provider';
import { refreshPayment } from '../payments/refresh-payment';
import { SWEEP_AFTER_MS } from './background/workflow-dispatcher';
import type { OrderDependencies } from './dependencies';
import { type Checkout, reportCheckoutEvent } from './hosted-checkout';

/**
 * Records a payment, unless one is in progress or paid, and has the order's workflow check it until the bank has
 * decided, whatever the customer's browser does. `startAtBank` then starts it at the bank.
 * @param browser its digest will own the payment; an application that was submitted must belong to one of `ownDigests`
 */
export async function createPayment(
  deps: OrderDependencies,
  { order }: Checkout,
  bank: string,
  browser: { browserDigest: Buffer; ownDigests: readonly Buffer[] },
): Promise<void> {
  if (await insertPayment(deps.db, order.id, bank, browser, SWEEP_AFTER_MS)) {
    deps.dispatcher.requestDecision(order);
  }
}

/**
 * Starts a payment at the bank, if it has not been started.
 * @param returnUrl where the bank sends the customer afterwards
 * @returns the address of the bank's page for the payment
 * @throws PaymentProviderUnavailable
 */
export async function startAtBank(
  { payments }: OrderDependencies,
  { id, bank }: Payment,
  { order }: Checkout,
  returnUrl: string,
): Promise<string> {
  const { amountPence, reference, sellerName: payee } = order;
  return providerOf(payments, order.sandbox).start({ id, bank, amountPence, payee, reference, returnUrl });
}

/** Cancels a payment that the customer has not approved, so that another one can be started. */
export async function cancelPayment({ db, payments }: OrderDependencies, { payment }: Checkout): Promise<void> {
  if (payment?.status !== 'pending') return;
  const status = await providerOf(payments, payment.sandbox).cancel(payment.id);
  await recordPaymentStatus(db, payment.id, status, SWEEP_AFTER_MS);
}

/**
 * Asks the payment provider about an order's payment, if its result is not known: completes a paid order, and reverses
 * the payment of a closed one. If the provider or the workflow is unavailable, the workflow and the worker do it later.
 * @returns true if the checkout has to be read again
 */
export async function checkPayment(deps: OrderDependencies, { order, payment }: Checkout): Promise<boolean> {
  if (!payment || !mayChange(order.status, payment)) return false;
  try {
    if (isFinal(order.status)) {
      await reversePayment(deps, payment);
      return true;
    }
    if ((await refreshPayment(deps, payment, SWEEP_AFTER_MS)) === 'paid') {
      await reportCheckoutEvent(deps, order.id, 'approved', { actor: 'checkout' });
      await reportCheckoutEvent(deps, order.id, 'completed');
    }
    return true;
  } catch (error) {
    const isExpected = isProblem(error, 'service_unavailable');
    if (!isExpected && !(error instanceof PaymentProviderUnavailable)) throw error;
    deps.log.warn({ order_id: order.id, err: error }, 'a payment could not be checked, retrying later');
    return true;
  }
}

function mayChange(status: Checkout['order']['status'], payment: Payment): boolean {
  return isInProgress(payment.status) || (payment.status === 'paid' && status !== 'SUCCESSFUL');
}

/**
 * Cancels the payment of an order that is closed, or refunds it if it is paid already, unless it has completed the
 * order. A payment that the bank is still processing stays as it is; a later call refunds it.
 * @returns the status afterwards
 * @throws PaymentProviderUnavailable also if the provider contradicts itself
 */
export async function reversePayment(
  { db, payments }: { db: Db; payments: PaymentProviders },
  { id, sandbox, status: recorded }: Payment,
): Promise<PaymentStatus> {
  const provider = providerOf(payments, sandbox);
  const found = await provider.cancel(id);
  if (recorded === 'paid' && found !== 'paid' && found !== 'refunded') {
    throw new PaymentProviderUnavailable(`the payment provider has reported the payment as paid, and now as ${found}`);
  }
  const isOwed = found === 'paid' && !(await hasCompletedOrder(db, id));
  if (isOwed) await provider.refund(id);
  const status = isOwed ? 'refunded' : found;
  await recordPaymentStatus(db, id, status, SWEEP_AFTER_MS);
  return status;
}
