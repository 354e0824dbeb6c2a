import { remedyFor } from '../guard-call';
import type { PaymentTerm, Settlement } from '../../domain/order';
import type { PaymentStatus } from '../domain/payment';

/** A bank that customers can choose. */
export interface Bank {
  /** Stored with the payment. */
  id: string;
  name: string;
}

/** A payment as it is sent to a payment provider. */
interface NewPayment {
  /** Stays the same when the payment is started again. */
  id: string;
  /** The id of one of the provider's banks. */
  bank: string;
  amountPence: number;
  payee: string;
  /** The shop's reference of the order, up to 255 characters. For the bank statement: a UK bank shows 18 of them. */
  reference: string;
  /** Where the bank sends the customer afterwards, whatever the result. It does not prove anything. */
  returnUrl: string;
}

/**
 * Takes payments from customers' bank accounts (pay by bank). Every call may be repeated and may be made by several
 * processes at the same time, so a repeated id is the same payment.
 */
export interface PaymentProvider {
  /** As customers read it: `Pay now is provided by <name>.` */
  readonly name: string;
  /** A sentence that states who regulates the provider, with its reference number there. */
  readonly regulation: string;
  readonly banks: readonly Bank[];
  /**
   * Starts a payment, once.
   * @returns the address of the bank's page, where the customer approves the payment
   * @throws PaymentProviderUnavailable
   */
  start(payment: NewPayment): Promise<string>;
  /**
   * @returns `pending` for a payment that has not been started: it is asked before `start`. `paid` only once the whole
   * amount has been received: the service does not compare amounts itself. `refused`, `cancelled` and `refunded` are
   * final
   * @throws PaymentProviderUnavailable
   */
  statusOf(id: string): Promise<PaymentStatus>;
  /**
   * Cancels a payment that the customer has not approved. An unknown payment can no longer be started.
   * @returns the status afterwards: `cancelled`, or what the payment has become before
   * @throws PaymentProviderUnavailable
   */
  cancel(id: string): Promise<PaymentStatus>;
  /**
   * Refunds a paid payment, once.
   * @throws PaymentProviderUnavailable
   */
  refund(id: string): Promise<void>;
  /**
   * How the seller is paid for a paid payment. Asked before the order completes, so that its webhook can have it, then
   * again and again for weeks. Left out if the provider names none.
   * @returns undefined if it is not known yet
   * @throws PaymentProviderUnavailable
   */
  settlementOf?(id: string): Promise<Settlement | undefined>;
}

/** The message is shown to operators and stored in workflow history, so it must not contain customer data. */
export class PaymentProviderUnavailable extends Error {}

/** Who takes the payments of the hosted checkout, by the kind of account; undefined if none is configured. */
export interface PaymentProviders {
  sandbox: PaymentProvider | undefined;
  live: PaymentProvider | undefined;
}

/** The payment terms that customers can choose: without a payment provider, nobody can pay now. */
export function availableTerms(
  { sandbox, live }: PaymentProviders,
  order: { allowedPaymentTerms: readonly PaymentTerm[]; sandbox: boolean },
): readonly PaymentTerm[] {
  const hasProvider = (order.sandbox ? sandbox : live) !== undefined;
  return order.allowedPaymentTerms.filter((term) => term !== 'PAY_NOW' || hasProvider);
}

/** @throws PaymentProviderUnavailable if none is configured */
export function providerOf({ sandbox, live }: PaymentProviders, isSandbox: boolean): PaymentProvider {
  const provider = isSandbox ? sandbox : live;
  if (!provider) throw new PaymentProviderUnavailable(`no payment provider is configured for ${remedyFor(isSandbox)}`);
  return provider;
}
