import type { PaymentTerm } from './order';

/** What a business tells of itself to be decided on: personal data, which stays in Postgres. */
export interface Applicant {
  businessName: string;
  /** As Companies House writes it: eight characters, upper case. */
  companyNumber: string;
  email: string;
  monthlyTurnoverPence: number;
}

export interface Instalment {
  /** Counted from the day of the agreement, so that an offer that is taken up late is none of arrears. */
  dueInMonths: number;
  /** The calendar date, such as `2027-01-31`, where an older version had the customer agree to one. */
  due?: string;
  amountPence: number;
}

/** What a customer agrees to repay; without instalments where all is paid at once. */
export interface Offer {
  instalments: readonly Instalment[];
  /** How much of the instalments is interest. */
  interestPence: number;
}

/** Of who pays all at once. */
export const NO_OFFER: Offer = { instalments: [], interestPence: 0 };

/** What the customer of an approved application agrees to. */
export function offerOf(application: Pick<Application, 'decision'> | undefined): Offer {
  return application?.decision?.kind === 'approved' ? application.decision.offer : NO_OFFER;
}

export const DECLINE_CODES = ['affordability', 'credit_check', 'other'] as const;
export type DeclineCode = (typeof DECLINE_CODES)[number];

/** What a lender says in the end. */
export type LenderDecision =
  { kind: 'approved'; offer: Offer } | { kind: 'declined'; code: DeclineCode } | { kind: 'failed' };

/** A customer's application on the hosted checkout. */
export interface Application {
  /** What the lender knows it by. */
  id: string;
  orderId: string;
  paymentTerm: PaymentTerm;
  /** Set together, once; null again when what the customer told has been deleted. */
  submitted: { applicant: Applicant; at: Date } | null;
  /** When the lender first said that it decides later. */
  referredAt: Date | null;
  decision: LenderDecision | null;
  /** When the customer confirmed, having seen the offer. */
  agreedAt: Date | null;
}
