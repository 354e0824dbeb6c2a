import type { Logger } from 'pino';
import { isProblem } from '../../contracts/problem';
import type { Db } from '../../db/pool';
import { findApplication, recordAgreement, recordReturn, storeApplication, upsertPaymentTerm } from '../db/applications';
import { type Branding, findBranding } from '../db/branding';
import { findLastPayment } from '../db/payments';
import { type Applicant, type Application, DECISION_REASONS, offerOf } from '../domain/application';
import type { OrderStatus, Order, PaymentTerm } from '../../domain/order';
import { holdExpiry } from '../domain/expiry';
import { type Payment, isCurrent } from '../domain/payment';
import { type PaymentProviders, availableTerms } from '../payments/payment-provider';
import type { CheckoutWorkflows } from '../temporal/checkout-workflow-client';
import type { OrderCore } from '../order-core';

/** An agreement or a payment is reported once Temporal is available again: within a day, the order does not expire before. */
export const REPORT_WITHIN_MS = 86_400_000;

/** The dependencies and settings of the checkout's use cases. */
export interface CheckoutDependencies {
  core: OrderCore;
  db: Db;
  workflows: Pick<CheckoutWorkflows, 'proceed'>;
  payments: PaymentProviders;
  /** True if a real lender decides on the applications of live accounts. Sandbox accounts have the sandbox lender. */
  hasLiveLender: boolean;
  checkoutBaseUrl: string;
  log: Logger;
}

/**
 * The order belongs to a live account, and no real lender is configured, or no bank for an order that can only be paid
 * now.
 */
export class NoProviderError extends Error {}

/** What keeps the customer of a new order from checking out, as a sentence for its seller; undefined if nothing. */
export function checkoutObstacle(
  { hasLiveLender, payments }: Pick<CheckoutDependencies, 'hasLiveLender' | 'payments'>,
  order: Pick<Order, 'sandbox' | 'allowedPaymentTerms'>,
): string | undefined {
  if (!order.sandbox && !hasLiveLender)
    return 'Your account is live, and no lender is connected for live accounts: customers could not check out.';
  return availableTerms(payments, order).length === 0
    ? 'The order can only be paid now, and no payment provider is connected for live accounts.'
    : undefined;
}

/** An order as the hosted checkout shows it to its customer, with the payment terms that are available. */
export interface Checkout {
  order: Order;
  application: Application | undefined;
  /** The last payment that was started. */
  payment: Payment | undefined;
  branding: Branding;
}

/**
 * Reads the order behind a pay link from Postgres, which holds every acknowledged change. Does not need Temporal.
 * @throws Problem `not_found`, or NoProviderError
 */
export async function readCheckout(deps: CheckoutDependencies, payLinkId: string): Promise<Checkout> {
  const order = await deps.core.findByPayLink(payLinkId);
  if (!order.sandbox && !deps.hasLiveLender) throw new NoProviderError();
  const [application, payment, branding] = await Promise.all([
    findApplication(deps.db, order.id),
    findLastPayment(deps.db, order.id),
    findBranding(deps.db, order.sellerId),
  ]);
  const allowedPaymentTerms = availableTerms(deps.payments, order);
  const asksForTerm = isUndecided(order.status) && !(payment && isCurrent(payment.status));
  if (asksForTerm && allowedPaymentTerms.length === 0) throw new NoProviderError();
  return { order: { ...order, allowedPaymentTerms }, application, payment, branding };
}

/** True while nobody has approved the order or closed it. */
function isUndecided(status: OrderStatus): boolean {
  return status === 'CREATED' || status === 'PENDING';
}

/**
 * Saves how the customer pays and reports `signup_started`. Does nothing if the order is past that step.
 * @throws Problem `service_unavailable` if the event could not be reported; the choice is saved
 */
export async function choosePaymentTerm(
  deps: CheckoutDependencies,
  { order }: Checkout,
  paymentTerm: PaymentTerm,
): Promise<void> {
  if (!isUndecided(order.status)) return;
  await upsertPaymentTerm(deps.db, order.id, paymentTerm);
  await deps.core.report(order.id, 'signup_started', { paymentTerm });
}

/**
 * Chooses the only payment term of an order, whose customer skips the choice. An order can be PENDING without a choice,
 * for example after a purge. A choice that was made stays, unless the order no longer allows it because the
 * operator has removed the payment provider.
 * @throws Problem `service_unavailable`
 */
export async function ensurePaymentTerm(
  deps: CheckoutDependencies,
  checkout: Checkout,
  paymentTerm: PaymentTerm,
): Promise<void> {
  const { order, application } = checkout;
  const isChosen = application && order.allowedPaymentTerms.includes(application.paymentTerm);
  if (order.status === 'CREATED' || !isChosen) await choosePaymentTerm(deps, checkout, paymentTerm);
}

/**
 * Saves the application to pay later and has the checkout's workflow ask the lender. Does nothing if an
 * application was submitted before, if the order is not PENDING, or if the customer has chosen another payment term
 * since.
 * @param application `browserDigest`: of the browser that it will belong to. `replaces`: the id of the application that
 *   the lender could not process; undefined for the first one
 */
export async function submitApplication(
  deps: CheckoutDependencies,
  { order }: Checkout,
  application: { applicant: Applicant; browserDigest: Buffer; replaces: string | undefined },
): Promise<void> {
  if (await storeApplication(deps.db, order.id, application)) await proceed(deps, order);
}

/**
 * Has the lender asked again, because its customer comes back from its page.
 * @returns false if the customer had nothing to do there
 */
export async function returnFromLender(deps: CheckoutDependencies, { order, application }: Checkout): Promise<boolean> {
  if (!application?.actionUrl || !(await recordReturn(deps.db, order.id))) return false;
  await proceed(deps, order);
  return true;
}

/** True if the customer can agree: our lender approved, and there are repayments to show. */
export function canAgree({ order, application }: Pick<Checkout, 'order' | 'application'>): boolean {
  return order.status === 'APPROVED' && offerOf(application).instalments.length > 0;
}

/**
 * Ends an order whose customer does not want to pay now after a decline, or to apply again after a failure.
 * @throws Problem `service_unavailable`
 */
export async function withdrawApplication(deps: CheckoutDependencies, { order, application }: Checkout): Promise<void> {
  const kind = application?.decision?.kind;
  if (kind !== 'declined' && kind !== 'failed') return;
  await deps.core.report(order.id, kind, { reason: DECISION_REASONS[kind] });
}

/**
 * Saves the customer's agreement and completes the order. If the order's workflow is unavailable, the checkout's
 * workflow completes it later. Does nothing if the application belongs to another browser.
 */
export async function agreeToOffer(
  deps: CheckoutDependencies,
  checkout: Checkout,
  browserDigests: readonly Buffer[],
  at: Date,
): Promise<void> {
  const { id } = checkout.order;
  if (!canAgree(checkout)) return;
  await holdExpiry(deps, checkout, REPORT_WITHIN_MS);
  if (!(await recordAgreement(deps.db, id, browserDigests, at))) return;
  try {
    await deps.core.report(id, 'completed', { paymentTerm: 'PAY_LATER' });
  } catch (error) {
    if (!isProblem(error, 'service_unavailable')) throw error;
  }
}

/**
 * Has the checkout's workflow do what Postgres shows. While Temporal is unavailable it is done later: see
 * `findUnfinishedCheckouts`.
 * @returns false then
 */
export async function proceed({ workflows, log }: CheckoutDependencies, order: Checkout['order']): Promise<boolean> {
  try {
    await workflows.proceed(order);
    return true;
  } catch (error) {
    log.warn({ order_id: order.id, err: error }, 'the checkout could not proceed: a worker repeats it');
    return false;
  }
}
