import type { Order } from '../../domain/order';
import type { Branding } from '../db/branding';
import { type Application, offerOf } from './application';
import type { Payment } from './payment';

/** An order as the hosted checkout shows it to its customer, with the payment terms that are available. */
export interface Checkout {
  order: Order;
  application: Application | undefined;
  /** The last payment that was started. */
  payment: Payment | undefined;
  branding: Branding;
}

/** True if the customer can agree: our lender approved, and there are repayments to show. */
export function canAgree({ order, application }: Pick<Checkout, 'order' | 'application'>): boolean {
  return order.status === 'APPROVED' && offerOf(application).instalments.length > 0;
}
