import type { Offer } from '../domain/application';
import { NO_OFFER } from '../domain/application';
import { londonDate } from './london-date';
import { monthlyInstalments } from './instalments';
import type { Lender, LenderAnswer, LenderApplication } from './lender';
import { LenderUnavailable } from './lender';

const INSTALMENTS = 3;
/** What a business may pay later, in its monthly turnovers. */
const AFFORDABLE_TURNOVERS = 2;

/**
 * Decides by the table in docs/hosted-checkout.md, without any memory: by the email, the turnover and the time since the
 * application was submitted.
 * @param referralMs how long a referral takes, and an outage
 */
export function createSandboxLender(referralMs: number, now: () => number = Date.now): Lender {
  function decide(application: LenderApplication): LenderAnswer {
    const { applicant, amountPence, paymentTerm, submittedAt } = application;
    const role = /^(referred-declined|referred|declined|failed|outage)(?=[@+])/i
      .exec(applicant.email)?.[1]
      ?.toLowerCase();
    const ageMs = now() - submittedAt.getTime();
    if (role === 'outage' && ageMs < referralMs) throw new LenderUnavailable('the sandbox plays an outage');
    if (role?.startsWith('referred') && ageMs < referralMs) {
      return { kind: 'referred', askAgainMs: Math.max(referralMs - ageMs, 1) };
    }
    if (role === 'failed') return { kind: 'failed' };
    if (role?.endsWith('declined')) return { kind: 'declined', code: 'credit_check' };
    const affordable = AFFORDABLE_TURNOVERS * applicant.monthlyTurnoverPence;
    if (paymentTerm === 'PAY_LATER' && amountPence > affordable) return { kind: 'declined', code: 'affordability' };
    return { kind: 'approved', offer: offerOf(application, londonDate(new Date(now()))) };
  }
  return { decide: (application) => Promise.resolve().then(() => decide(application)) };
}

function offerOf({ amountPence, paymentTerm, pricing }: LenderApplication, today: string): Offer {
  if (paymentTerm === 'PAY_NOW') return NO_OFFER;
  return monthlyInstalments(amountPence, INSTALMENTS, today, pricing);
}
