import type { Applicant, LenderDecision } from '../domain/application';
import type { PaymentTerm, Pricing } from '../domain/order';

/** An application as a lender hears of it. */
export interface LenderApplication {
  /** The same however often the lender is asked. */
  id: string;
  orderId: string;
  amountPence: number;
  paymentTerm: PaymentTerm;
  pricing: Pricing;
  applicant: Applicant;
  submittedAt: Date;
}

export type LenderAnswer = LenderDecision | { kind: 'referred'; askAgainMs: number };

/**
 * Who decides on customers. It is asked again after any error and after each `referred`, also by two workers at once: an
 * application of an id that it knows is no new one.
 */
export interface Lender {
  /**
   * @param signal aborts where nobody waits for the answer any more
   * @throws LenderUnavailable while no answer is to be had; any other error likewise has it asked again
   */
  decide(application: LenderApplication, signal: AbortSignal): Promise<LenderAnswer>;
}

/** Its message is shown to operators and kept in the workflow's history: nothing about the customer may be in it. */
export class LenderUnavailable extends Error {}
