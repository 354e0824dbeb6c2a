import type { Logger } from 'pino';
import type { Db } from '../../db/pool';
import type { Order, OrderStatus } from '../../domain/order';
import { findApplication } from '../db/applications';
import { findBranding } from '../db/branding';
import { findLastPayment } from '../db/payments';
import type { Checkout } from '../domain/checkout';
import { isCurrent } from '../domain/payment';
import type { OrderCore } from '../order-core';
import { type PaymentProviders, availableTerms } from '../payments/payment-provider';
import type { CheckoutWorkflows } from '../temporal/checkout-workflow-client';

export interface CheckoutDependencies {
  core: OrderCore;
  db: Db;
  workflows: Pick<CheckoutWorkflows, 'proceed' | 'sendMails'>;
  payments: PaymentProviders;
  /** True if a real lender decides on the applications of live accounts. Sandbox accounts have the sandbox lender. */
  hasLiveLender: boolean;
  /** True if that lender may name a settlement after its decision. */
  settlesLater: boolean;
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

/**
 * Reads the order behind a pay link from Postgres, which holds every acknowledged change. Does not need Temporal.
 * @throws Problem `not_found`, or NoProviderError
 */
export async function readCheckout(
  deps: Pick<CheckoutDependencies, 'core' | 'db' | 'payments' | 'hasLiveLender'>,
  payLinkId: string,
): Promise<Checkout> {
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
export function isUndecided(status: OrderStatus): boolean {
  return status === 'CREATED' || status === 'PENDING';
}
