import { Problem } from '../contracts/problem';
import * as applications from '../db/applications';
import type { Branding } from '../db/branding';
import { findBranding } from '../db/branding';
import type { Applicant, Application } from '../domain/application';
import { offerOf } from '../domain/application';
import type { OrderHistory, PaymentTerm } from '../domain/order';
import type { ProgressEvent } from '../domain/status';
import { reportProgress } from './change-order';
import type { OrderDependencies } from './dependencies';
import { readByPayLink } from './read-order';
import { SWEEP_AFTER_MS } from './background/workflow-dispatcher';

/** What the hosted checkout knows of the customer that came by a pay link. */
export interface Checkout extends OrderHistory {
  application: Application | undefined;
  branding: Branding;
}

/**
 * By the row, which no acknowledged change is ahead of; Temporal has no part in it.
 * @throws Problem `not_found`
 */
export async function readCheckout(deps: OrderDependencies, payLinkId: string): Promise<Checkout> {
  const { order, changes } = await readByPayLink(deps, payLinkId);
  const [application, branding] = await Promise.all([
    applications.findApplication(deps.db, order.id),
    findBranding(deps.db, order.sellerId),
  ]);
  return { order, changes, application, branding };
}

/**
 * Takes how the customer wants to pay, and starts the signup. What comes too late changes nothing: the page tells where
 * the order stands.
 * @throws Problem `service_unavailable` where the start could not be reported; the choice is kept
 */
export async function choosePaymentTerm(
  deps: OrderDependencies,
  { order }: Checkout,
  paymentTerm: PaymentTerm,
): Promise<void> {
  if (order.status !== 'CREATED' && order.status !== 'PENDING') return;
  await applications.choosePaymentTerm(deps.db, order.id, paymentTerm);
  await report(deps, order.id, 'signup_started');
}

/**
 * Takes the application, once, and has the order's workflow ask the lender. It is in Postgres before anybody is asked.
 * One that comes too late, or for another way to pay than was chosen last, changes nothing.
 */
export async function submitApplication(
  deps: OrderDependencies,
  { order }: Checkout,
  paymentTerm: PaymentTerm,
  applicant: Applicant,
): Promise<void> {
  const taken = await applications.submitApplication(deps.db, order.id, paymentTerm, applicant, SWEEP_AFTER_MS);
  if (taken) deps.dispatcher.applicationSubmitted(order);
}

/** Whether the customer has been shown all that they confirm: what is repaid and when, where they pay later. */
export function isConfirmable({ order, application }: Pick<Checkout, 'order' | 'application'>): boolean {
  if (order.status !== 'APPROVED' || application?.decision?.kind !== 'approved') return false;
  return application.paymentTerm === 'PAY_NOW' || offerOf(application).instalments.length > 0;
}

/**
 * Takes the customer's word, and completes the order. The word is in Postgres first: where the order's workflow can't be
 * reached, the sweep goes on with it.
 */
export async function confirm(deps: OrderDependencies, checkout: Checkout, at: Date): Promise<void> {
  if (!isConfirmable(checkout)) return;
  await applications.recordAgreement(deps.db, checkout.order.id, at, SWEEP_AFTER_MS);
  try {
    await report(deps, checkout.order.id, 'completed');
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'service_unavailable') throw error;
  }
}

/** A refusal means that the order went another way meanwhile, which the page tells. */
async function report(deps: OrderDependencies, orderId: string, event: ProgressEvent): Promise<void> {
  try {
    await reportProgress(deps, orderId, { event, reason: null, actor: 'customer' });
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'transition_not_allowed') throw error;
  }
}
