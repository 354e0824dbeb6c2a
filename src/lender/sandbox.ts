import { NO_OFFER, type Offer } from '../domain/application';
import { monthlyInstalments } from './instalments';
import { type Lender, type LenderAnswer, type LenderApplication, LenderUnavailable } from './lender';
import { londonDate } from './london-date';

const MAX_INSTALMENTS = 3;
/** The amount that a business can pay later, as a multiple of its monthly turnover. */
const AFFORDABLE_TURNOVERS = 2;
/** The part of the email before `@` or `+` selects an outcome. */
const OUTCOME = /^(referred-declined|referred|declined|failed|outage)(?=[@+])/i;

/**
 * A stateless test lender. The email, the turnover and the application's age decide, as listed in
 * docs/hosted-checkout.md.
 * @param referralMs the duration of a referral and of an outage
 */
export function createSandboxLender(referralMs: number, now: () => number = Date.now): Lender {
  function decide(application: LenderApplication): LenderAnswer {
    const { applicant, amountPence, paymentTerm, submittedAt } = application;
    const outcome = OUTCOME.exec(applicant.email)?.[1]?.toLowerCase();
    const ageMs = now() - submittedAt.getTime();
    if (outcome === 'outage' && ageMs < referralMs) throw new LenderUnavailable('the sandbox simulates an outage');
    if (outcome?.startsWith('referred') && ageMs < referralMs) {
      return { kind: 'referred', askAgainMs: Math.max(referralMs - ageMs, 1) };
    }
    if (outcome === 'failed') return { kind: 'failed' };
    if (outcome?.endsWith('declined')) return { kind: 'declined', code: 'credit_check' };
    const affordablePence = AFFORDABLE_TURNOVERS * applicant.monthlyTurnoverPence;
    if (paymentTerm === 'PAY_LATER' && amountPence > affordablePence) {
      return { kind: 'declined', code: 'affordability' };
    }
    return { kind: 'approved', offer: createOffer(application, londonDate(new Date(now()))) };
  }
  // A throw in `decide` becomes a rejection.
  return { decide: (application) => Promise.resolve().then(() => decide(application)) };
}

function createOffer({ amountPence, paymentTerm, pricing }: LenderApplication, today: string): Offer {
  if (paymentTerm === 'PAY_NOW') return NO_OFFER;
  return monthlyInstalments(amountPence, MAX_INSTALMENTS, today, pricing);
}
