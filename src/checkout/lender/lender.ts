import type { Applicant, LenderDecision, Offer } from '../domain/application';
import type { Pricing, Settlement } from '../../domain/order';

/** An application to pay later, as it is sent to a lender. */
export interface LenderApplication {
  /** Stays the same when the lender is asked again. */
  id: string;
  orderId: string;
  amountPence: number;
  pricing: Pricing;
  applicant: Applicant;
  /** Where the customer goes after the lender's own page, whatever happened there. */
  returnUrl: string;
  /** When the customer last came back there, which proves nothing. Null if that has not happened. */
  returnedAt: Date | null;
  submittedAt: Date;
  /** Now, by the clock of Postgres, as `submittedAt` is. The clocks of workers may differ. */
  askedAt: Date;
}

/**
 * `referred`: the lender decides later. `action_required`: the customer first has to act on a page of the lender, such as
 * prove an identity or sign. The lender is asked again after `askAgainMs`, within 5 s to a day, and when the customer
 * comes back.
 */
export type LenderAnswer =
  | LenderDecision
  | { kind: 'referred'; askAgainMs: number }
  | { kind: 'action_required'; url: string; askAgainMs: number };

export type AgreedApplication = Pick<LenderApplication, 'id' | 'orderId' | 'amountPence'>;

/**
 * Decides on applications. It is asked again until it has decided, and two workers may ask at the
 * same time, so it must treat a repeated id as the same application.
 */
export interface Lender {
  /** How long a review by a person usually takes, for customers: `about 2 hours`. */
  reviewTime: string;
  /**
   * The repayments that an approved customer is offered, before anyone has applied.
   * @param today the calendar date in London
   */
  quote(order: { amountPence: number; pricing: Pricing }, today: string): Offer;
  /**
   * @param signal aborts when the answer is no longer needed
   * @throws LenderUnavailable if the lender cannot answer now; any other error is retried too
   */
  decide(application: LenderApplication, signal: AbortSignal): Promise<LenderAnswer>;
  /**
   * How the seller is paid for an application whose customer has agreed, if the answer `approved` did not name it. Asked
   * again and again for weeks. Left out if the lender names none.
   * @returns undefined if it is not known yet
   */
  settlementOf?(application: AgreedApplication, signal: AbortSignal): Promise<Settlement | undefined>;
}

/** Who decides on the applications of the hosted checkout, by the kind of account. */
export interface Lenders {
  /** Undefined if there is no hosted checkout. */
  sandbox: Lender | undefined;
  /** Undefined if no real lender is connected. */
  live: Lender | undefined;
}

/** The message is shown to operators and stored in workflow history, so it must not contain customer data. */
export class LenderUnavailable extends Error {}
