import type { Applicant, LenderDecision } from '../domain/application';
import type { PaymentTerm, Pricing } from '../domain/order';

/** An application as it is sent to a lender. */
export interface LenderApplication {
  /** Stays the same when the lender is asked again. */
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
 * Decides on applications. It is asked again after every error and every `referred`, and two workers may ask at the same
 * time, so it must treat a repeated id as the same application.
 */
export interface Lender {
  /**
   * @param signal aborts when the answer is no longer needed
   * @throws LenderUnavailable if the lender cannot answer now; any other error is retried too
   */
  decide(application: LenderApplication, signal: AbortSignal): Promise<LenderAnswer>;
}

/** The message is shown to operators and stored in workflow history, so it must not contain customer data. */
export class LenderUnavailable extends Error {}
