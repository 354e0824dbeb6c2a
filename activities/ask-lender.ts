import { ApplicationFailure, Context } from '@temporalio/activity';
import { findApplication, recordDecision, recordReferral } from '../src/db/applications';
import { findOrder } from '../src/db/orders';
import type { Db } from '../src/db/pool';
import type { LenderDecision } from '../src/domain/application';
import type { Lender, LenderAnswer, LenderApplication } from '../src/lender/lender';
import { LenderUnavailable } from '../src/lender/lender';

/** What a workflow hears of the lender's answer: nothing about the customer, for it stays in history. */
export type LenderResponse =
  | { kind: 'decided'; event: LenderDecision['kind']; reason: string | null }
  | { kind: 'referred'; askAgainMs: number }
  | { kind: 'nothing' };

/** The seller hears these; why the lender declined is between it and its customer. */
const REASONS = {
  approved: null,
  declined: 'declined by the lender',
  failed: 'the lender could not process the application',
} as const;

/** Below the activity's own timeout, so that a lender that hangs is told of as what it is. */
const TIMEOUT_MS = 25_000;

/**
 * Asks the lender once. A decision that an earlier, lost run of this activity wrote down stands.
 * @throws where the lender can't be had: the workflow's retries ask again
 */
export async function askLender(db: Db, lender: Lender | undefined, orderId: string): Promise<LenderResponse> {
  const application = await findApplication(db, orderId);
  const stored = await findOrder(db, orderId);
  if (!stored || !application?.submitted) return { kind: 'nothing' };
  if (application.decision) return decided(application.decision);
  const { id, paymentTerm, submitted } = application;
  const { amountPence, pricing } = stored.order;
  const { applicant, at: submittedAt } = submitted;
  const answer = await ask(lender, { id, orderId, amountPence, paymentTerm, pricing, applicant, submittedAt });
  if (answer.kind === 'referred') {
    await recordReferral(db, id);
    return { kind: 'referred', askAgainMs: answer.askAgainMs };
  }
  await recordDecision(db, id, answer);
  // Of two that asked at once, the first one's word counts.
  const { decision } = (await findApplication(db, orderId)) ?? {};
  return decided(decision ?? answer);
}

function decided({ kind }: LenderDecision): LenderResponse {
  return { kind: 'decided', event: kind, reason: REASONS[kind] };
}

async function ask(lender: Lender | undefined, application: LenderApplication): Promise<LenderAnswer> {
  if (!lender) throw unavailable('no lender is configured: set CHECKOUT_LENDER');
  const signal = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), Context.current().cancellationSignal]);
  try {
    return await lender.decide(application, signal);
  } catch (error) {
    if (error instanceof LenderUnavailable) throw unavailable(error.message);
    // What an adapter throws may quote what it was given: its class must do.
    throw unavailable(`the lender's adapter failed: ${error instanceof Error ? error.name : typeof error}`);
  }
}

/** Without the cause, whose text would be kept in history. */
function unavailable(message: string): ApplicationFailure {
  return ApplicationFailure.retryable(message, 'LenderUnavailable');
}
