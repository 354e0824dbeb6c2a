import { ApplicationFailure, Context } from '@temporalio/activity';
import { findApplication, recordDecision, recordReferral } from '../src/db/applications';
import { findOrder } from '../src/db/find-orders';
import type { Db } from '../src/db/pool';
import type { LenderDecision } from '../src/domain/application';
import { type Lender, type LenderAnswer, type LenderApplication, LenderUnavailable } from '../src/lender/lender';

/** The part of the lender's response that enters history. It has no data about the customer. */
export type LenderResponse =
  | { kind: 'decided'; event: LenderDecision['kind']; reason: string | null }
  | { kind: 'referred'; askAgainMs: number }
  | { kind: 'nothing' };

/** The reasons that sellers see. The lender's reason for a decline is confidential. */
const REASONS = {
  approved: null,
  declined: 'declined by the lender',
  failed: 'the lender could not process the application',
} as const;

/** Shorter than the activity's timeout, so that the failure names a lender that hangs as its cause. */
const TIMEOUT_MS = 25_000;

/** Who decides on the applications of the hosted checkout, by the kind of account. */
export interface Lenders {
  sandbox: Lender;
  /** Undefined if no real lender is configured. */
  live: Lender | undefined;
}

export interface LenderActivityOptions {
  db: Db;
  lenders: Lenders;
}

export function createLenderActivities({ db, lenders }: LenderActivityOptions) {
  return {
    /**
     * Asks the lender once for its decision on an order's application. A decision that is recorded already is returned.
     * @throws a retryable failure if the lender is unavailable
     */
    async askLender(orderId: string): Promise<LenderResponse> {
      const application = await findApplication(db, orderId);
      const stored = await findOrder(db, orderId);
      if (!stored || !application?.submitted) return { kind: 'nothing' };
      if (application.decision) return decided(application.decision);
      const { id, paymentTerm, submitted } = application;
      const { amountPence, pricing, sandbox } = stored.order;
      const lender = sandbox ? lenders.sandbox : lenders.live;
      const { applicant, at: submittedAt } = submitted;
      const answer = await ask(lender, { id, orderId, amountPence, paymentTerm, pricing, applicant, submittedAt });
      if (answer.kind === 'referred') {
        await recordReferral(db, id);
        return { kind: 'referred', askAgainMs: answer.askAgainMs };
      }
      await recordDecision(db, id, answer);
      // If two runs ask at the same time, the decision that is recorded first counts.
      const { decision } = (await findApplication(db, orderId)) ?? {};
      return decided(decision ?? answer);
    },
  };
}

function decided({ kind }: LenderDecision): LenderResponse {
  return { kind: 'decided', event: kind, reason: REASONS[kind] };
}

async function ask(lender: Lender | undefined, application: LenderApplication): Promise<LenderAnswer> {
  if (!lender) throw unavailable('no real lender is configured, and the sandbox lender serves sandbox accounts only');
  const signal = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), Context.current().cancellationSignal]);
  try {
    return await lender.decide(application, signal);
  } catch (error) {
    if (error instanceof LenderUnavailable) throw unavailable(error.message);
    // The message of an adapter's own error may quote personal data, so only its class is kept.
    throw unavailable(`the lender's adapter failed: ${error instanceof Error ? error.name : typeof error}`);
  }
}

/** Omits the cause: history would keep its text. */
function unavailable(message: string): ApplicationFailure {
  return ApplicationFailure.retryable(message, 'LenderUnavailable');
}
