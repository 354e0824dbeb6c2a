import type { PaymentTerm, Promotion, Settlement } from '../../domain/order';

/** The business that applies. Personal data: it is stored in Postgres only. */
export interface Applicant {
  businessName: string;
  /** In the format of Companies House: eight characters, upper case. */
  companyNumber: string;
  email: string;
  monthlyTurnoverPence: number;
}

export interface Instalment {
  /** Counted from the day of the agreement, so an offer accepted late has no overdue instalments. */
  dueInMonths: number;
  amountPence: number;
}

/** The repayments that a customer agrees to. There are no instalments if the customer pays now. */
export interface Offer {
  instalments: readonly Instalment[];
  /** The yearly interest rate in percent, as the lender states it. The pages show no rate if it is absent. */
  annualInterest?: number | undefined;
  /** The promotion that reduces the interest. */
  promotion?: Pick<Promotion, 'name' | 'interestFreeDays'> | undefined;
}

/** The amount and the interest together. */
export function totalPence({ instalments }: Offer): number {
  return instalments.reduce((sum, { amountPence }) => sum + amountPence, 0);
}

/** The offer of a customer who pays now. */
export const NO_OFFER: Offer = { instalments: [] };

/** The offer of an approved application; `NO_OFFER` for any other. */
export function offerOf(application: Pick<Application, 'decision'> | undefined): Offer {
  return application?.decision?.kind === 'approved' ? application.decision.offer : NO_OFFER;
}

export type DeclineCode = 'affordability' | 'credit_check' | 'other';

/** The decision of a lender, with its settlement if that is known. After `failed`, which is no decision about the business, the customer can apply again. */
export type LenderDecision =
  | { kind: 'approved'; offer: Offer; settlement?: Settlement | undefined }
  | { kind: 'declined'; code: DeclineCode }
  | { kind: 'failed' };

/**
 * How a customer of the hosted checkout pays: the chosen payment term, and for Pay later the application to the lender.
 */
export interface Application {
  /** The id that the lender knows the application by. */
  id: string;
  orderId: string;
  paymentTerm: PaymentTerm;
  /** Null before the application is submitted, and again after the applicant's data is deleted. */
  submitted: { applicant: Applicant; at: Date } | null;
  /** When the lender first answered that it decides later. Null if the customer has to act at the lender since. */
  referredAt: Date | null;
  /** The lender's page where the customer has to act; null if there is none, or the customer has come back. */
  actionUrl: string | null;
  /** When the customer last came back from the lender's page. */
  returnedAt: Date | null;
  decision: LenderDecision | null;
  decidedAt: Date | null;
  /** When the customer agreed to the offer. */
  agreedAt: Date | null;
  /**
   * A digest of the secret of the browser that the application belongs to. Null until it is submitted or a payment is
   * started.
   */
  browserDigest: Buffer | null;
  /** When the links to continue on another device were requested that still work. */
  openLinks: Date[];
}

/** The reasons that sellers see. The lender's reason for a decline is confidential. */
export const DECISION_REASONS: Record<LenderDecision['kind'], string | null> = {
  approved: null,
  declined: 'declined by the lender',
  failed: 'the lender could not process the application',
};
