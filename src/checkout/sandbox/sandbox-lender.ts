import { monthlyInstalments } from '../lender/instalments';
import { type Lender, type LenderAnswer, type LenderApplication, LenderUnavailable } from '../lender/lender';
import { londonDate } from '../domain/calendar';
import { sandboxSettlement } from './sandbox-settlement';
import { LENDER_TEST_CUSTOMERS, type LenderOutcome } from './test-customers';

const MAX_INSTALMENTS = 3;
/** How often the lender is asked while the customer is on its page. */
const VERIFY_AGAIN_MS = 60_000;
/** The amount that a business can pay later, as a multiple of its monthly turnover. */
const AFFORDABLE_TURNOVERS = 2;

/**
 * The sandbox lender, which is stateless. The email, the turnover and the application's age decide, as listed in
 * docs/lenders/checkout.md.
 * @param referralMs the duration of a referral and of an outage
 */
export function createSandboxLender(referralMs: number): Lender {
  const quote: Lender['quote'] = ({ amountPence, pricing }, today) =>
    monthlyInstalments(amountPence, MAX_INSTALMENTS, today, pricing);

  function decide(application: LenderApplication): LenderAnswer {
    const { applicant, amountPence, returnUrl, returnedAt, submittedAt, askedAt } = application;
    const outcome = outcomeOf(applicant.email);
    const ageMs = askedAt.getTime() - submittedAt.getTime();
    if (outcome === 'outage' && ageMs < referralMs) throw new LenderUnavailable('the sandbox simulates an outage');
    if (outcome.startsWith('referred') && ageMs < referralMs) {
      return { kind: 'referred', askAgainMs: Math.max(referralMs - ageMs, 1) };
    }
    if (outcome === 'verify' && !returnedAt) {
      return {
        kind: 'action_required',
        url: new URL('../sandbox-lender/', returnUrl).href,
        askAgainMs: VERIFY_AGAIN_MS,
      };
    }
    if (outcome === 'failed') return { kind: 'failed' };
    if (outcome.endsWith('declined')) return { kind: 'declined', code: 'credit_check' };
    if (amountPence > AFFORDABLE_TURNOVERS * applicant.monthlyTurnoverPence) {
      return { kind: 'declined', code: 'affordability' };
    }
    const settlement = sandboxSettlement(application.id, amountPence, submittedAt);
    return { kind: 'approved', offer: quote(application, londonDate(askedAt)), settlement };
  }

  return {
    reviewTime: describeDuration(referralMs),
    quote,
    // A throw in `decide` becomes a rejection.
    decide: (application) => Promise.resolve().then(() => decide(application)),
  };
}

/** The part of the email before `@` or `+` names the test customer. */
function outcomeOf(email: string): LenderOutcome {
  const name = email.split(/[@+]/)[0]?.toLowerCase();
  return LENDER_TEST_CUSTOMERS.find((customer) => customer.name === name)?.name ?? 'approved';
}

function describeDuration(ms: number): string {
  const seconds = Math.max(Math.round(ms / 1000), 1);
  const [count, unit] = seconds < 120 ? [seconds, 'second'] : [Math.round(seconds / 60), 'minute'];
  return `about ${count} ${unit}${count === 1 ? '' : 's'}`;
}
