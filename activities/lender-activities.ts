import { ApplicationFailure, Context } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import { findApplication, recordDecision, recordReferral } from '../src/db/applications';
import { readClock } from '../src/db/clock';
import { findOrder } from '../src/db/find-orders';
import { findLastPayment } from '../src/db/payments';
import type { Db } from '../src/db/pool';
import { BANK_UNAVAILABLE_FAILURE, LENDER_BUSY_FAILURE } from '../src/domain/activity-failures';
import { DECISION_REASONS, type LenderDecision } from '../src/domain/application';
import type { PaymentTerm } from '../src/domain/order';
import { type Payment, isCurrent, isInProgress } from '../src/domain/payment';
import {
  type Lender,
  type LenderAnswer,
  type LenderApplication,
  LenderUnavailable,
  remedyFor,
} from '../src/lender/lender';
import { LenderBusy } from '../src/lender/limit-calls';
import { type PaymentProviders, PaymentProviderUnavailable, availableTerms } from '../src/payments/payment-provider';
import { refreshPayment } from '../src/payments/refresh-payment';

/**
 * The part of the lender's or the bank's answer that enters Temporal's history: nothing about the customer. `isPaid`:
 * the bank confirmed the payment.
 */
export type LenderResponse =
  | { kind: 'decided'; event: LenderDecision['kind']; reason: string | null; isPaid?: true }
  | { kind: 'referred'; askAgainMs: number }
  | { kind: 'nothing' };

/** Shorter than the activity's timeout, so that the failure names a lender that hangs as its cause. */
const TIMEOUT_MS = 25_000;

/** The longest wait for a lender with too many running calls. The first is 1 to 2 s, and each further one is twice as long. */
const LONGEST_BUSY_MS = 30_000;

/** A payment is checked again after a quarter of its age, within these limits. */
const PAYMENT_CHECK_MS = { min: 1000, max: 60_000 };
/** The time until the sweep completes a paid order, if its workflow has not. */
const COMPLETE_AFTER_MS = 3000;

/** Who decides on the applications of the hosted checkout, by the kind of account. */
export interface Lenders {
  /** Undefined if there is no hosted checkout. */
  sandbox: Lender | undefined;
  /** Undefined if no real lender is configured. */
  live: Lender | undefined;
}

export interface LenderActivityOptions {
  db: Db;
  lenders: Lenders;
  payments: PaymentProviders;
}

export function createLenderActivities({ db, lenders, payments }: LenderActivityOptions) {
  /**
   * A paid payment is an approval, after which the workflow completes the order, whether the browser returns or not.
   */
  async function askBank(payment: Payment): Promise<LenderResponse> {
    const status = await refreshPayment({ db, payments }, payment, COMPLETE_AFTER_MS).catch((error: unknown) => {
      throw toBankFailure(error);
    });
    if (status === 'paid') return { ...decided({ kind: 'approved' }), isPaid: true };
    if (!isInProgress(status)) return { kind: 'nothing' };
    const { min, max } = PAYMENT_CHECK_MS;
    return { kind: 'referred', askAgainMs: Math.min(Math.max(payment.ageMs / 4, min), max) };
  }

  return {
    /**
     * Asks the lender once for the decision on an order's application, or the bank for the result of its payment. A
     * decision that is recorded already is returned.
     * @throws a retryable failure if the lender or the payment provider is unavailable
     */
    async askForDecision(orderId: string): Promise<LenderResponse> {
      const payment = await findLastPayment(db, orderId);
      if (payment && isCurrent(payment.status)) return askBank(payment);
      const application = await findApplication(db, orderId);
      const stored = await findOrder(db, orderId);
      if (!stored || !application?.submitted) return { kind: 'nothing' };
      const { amountPence, pricing, sandbox } = stored.order;
      const terms = availableTerms(payments, stored.order);
      if (application.decision) return toResponse(application.decision, terms);
      const { id, submitted } = application;
      const lender = lenderOf(lenders, sandbox);
      const { applicant, at: submittedAt } = submitted;
      const askedAt = await readClock(db);
      const answer = await ask(lender, { id, orderId, amountPence, pricing, applicant, submittedAt, askedAt });
      if (answer.kind === 'referred') {
        await recordReferral(db, id);
        return { kind: 'referred', askAgainMs: answer.askAgainMs };
      }
      await recordDecision(db, id, answer);
      const latest = await findApplication(db, orderId);
      // An application that the customer has replaced meanwhile is asked about by its own request.
      if (latest?.id !== id || !latest.decision) return { kind: 'nothing' };
      // If two runs ask at the same time, the first recorded decision applies.
      return toResponse(latest.decision, terms);
    },
  };
}

/**
 * A decline ends the order only if the customer cannot pay now instead. After `failed` the customer can apply again. In
 * both cases the customer can end the order on the page.
 */
function toResponse(decision: LenderDecision, terms: readonly PaymentTerm[]): LenderResponse {
  const canContinue = decision.kind === 'failed' || (decision.kind === 'declined' && terms.includes('PAY_NOW'));
  return canContinue ? { kind: 'nothing' } : decided(decision);
}

function decided({ kind }: Pick<LenderDecision, 'kind'>): Extract<LenderResponse, { kind: 'decided' }> {
  return { kind: 'decided', event: kind, reason: DECISION_REASONS[kind] };
}

/** The failure of the activity, for an error of the payment provider. Other errors stay as they are. */
function toBankFailure(error: unknown): unknown {
  return error instanceof PaymentProviderUnavailable ? unavailable(error.message, BANK_UNAVAILABLE_FAILURE) : error;
}

function lenderOf({ sandbox, live }: Lenders, isSandbox: boolean): Lender {
  const lender = isSandbox ? sandbox : live;
  if (!lender) throw unavailable(`no lender is configured for ${remedyFor(isSandbox)}`);
  return lender;
}

async function ask(lender: Lender, application: LenderApplication): Promise<LenderAnswer> {
  const timeout = new AbortController();
  // Not `AbortSignal.timeout`: if only `AbortSignal.any` refers to it, Node.js 20 can collect it before it aborts.
  const timer = setTimeout(() => timeout.abort(new DOMException('no answer', 'TimeoutError')), TIMEOUT_MS);
  try {
    return await lender.decide(application, AbortSignal.any([timeout.signal, Context.current().cancellationSignal]));
  } catch (error) {
    if (error instanceof LenderBusy) throw busy(error.message);
    if (error instanceof LenderUnavailable) throw unavailable(error.message);
    // The message of an adapter's own error may quote personal data, so only its class is kept.
    throw unavailable(`the lender's adapter failed: ${error instanceof Error ? error.name : typeof error}`);
  } finally {
    clearTimeout(timer);
  }
}

/** At random times, because applications that were refused together would be refused together again. */
function busy(message: string): ApplicationFailure {
  const delayMs = Math.min(2 ** Context.current().info.attempt * 1000, LONGEST_BUSY_MS);
  return ApplicationFailure.create({
    message,
    type: LENDER_BUSY_FAILURE,
    category: ApplicationFailureCategory.BENIGN,
    nextRetryDelay: delayMs * (0.5 + Math.random() / 2),
  });
}

/** Omits the cause: Temporal's history would keep its text. */
function unavailable(message: string, type = 'LenderUnavailable'): ApplicationFailure {
  return ApplicationFailure.retryable(message, type);
}
