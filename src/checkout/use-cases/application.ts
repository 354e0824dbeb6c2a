import { isProblem, unavailable } from '../../contracts/problem';
import type { Order, PaymentTerm } from '../../domain/order';
import {
  type SubmittedApplication,
  recordAgreement,
  recordReturn,
  storeApplication,
  upsertPaymentTerm,
} from '../db/applications';
import { recordLinkRequest } from '../db/mails';
import { DECISION_REASONS } from '../domain/application';
import { type Checkout, canAgree } from '../domain/checkout';
import { REPORT_WITHIN_MS, holdExpiry } from './hold-expiry';
import { type CheckoutDependencies, isUndecided } from './read-checkout';

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
 */
export async function submitApplication(
  deps: CheckoutDependencies,
  { order }: Checkout,
  application: SubmittedApplication,
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
  const { order } = checkout;
  if (!canAgree(checkout)) return;
  await holdExpiry(deps, checkout, REPORT_WITHIN_MS);
  if (!(await recordAgreement(deps.db, order.id, browserDigests, at))) return;
  try {
    await deps.core.report(order.id, 'completed', { paymentTerm: 'PAY_LATER' });
    if (deps.settlesLater && !order.sandbox && !order.settlement) await proceed(deps, order);
  } catch (error) {
    if (!isProblem(error, 'service_unavailable')) throw error;
    deps.log.warn({ order_id: order.id, err: error }, 'an agreement could not be reported: a worker repeats it');
  }
}

/**
 * Has a link emailed to the applicant that continues on another device.
 * @returns false if too many were requested
 * @throws Problem `service_unavailable`
 */
export async function requestLink({ db, workflows }: CheckoutDependencies, order: Order): Promise<boolean> {
  if (!(await recordLinkRequest(db, order.id))) return false;
  await workflows.sendMails(order).catch((cause: unknown) => {
    throw unavailable('The link was not sent.', cause);
  });
  return true;
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
