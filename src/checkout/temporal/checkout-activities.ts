import { ApplicationFailure, Context } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import { findApplication, recordAction, recordDecision, recordReferral } from '../db/applications';
import { readClock } from '../../db/clock';
import { closePaidPayment, findLastPayment, findOpenPayments } from '../db/payments';
import type { Db } from '../../db/pool';
import { type Application, DECISION_REASONS, type LenderDecision } from '../domain/application';
import { type Payment, type PaymentStatus, isCurrent, isInProgress } from '../domain/payment';
import {
  type ProgressEvent,
  type Actor,
  type PaymentTerm,
  type Order,
  type Settlement,
  isFinal,
} from '../../domain/order';
import { type AskForSettlement, type CallLender, LenderBusy } from '../lender/guard-lenders';
import { PAID_HOLD_MS, REPORT_WITHIN_MS, holdExpiry } from '../use-cases/hold-expiry';
import { LenderUnavailable } from '../lender/lender';
import type { OrderCore } from '../order-core';
import { type PaymentProviders, PaymentProviderUnavailable, availableTerms } from '../payments/payment-provider';
import { refreshPayment, reversePayment } from '../payments/settle-payment';

/** What the checkout reports to the order. */
export interface CheckoutReport {
  event: ProgressEvent;
  actor: Actor;
  reason: string | null;
  paymentTerm: PaymentTerm;
}

/** What a checkout does next, as the Temporal UI shows it. */
type CheckoutStep =
  | 'ask the lender'
  | 'report the agreement'
  | 'ask the bank'
  | 'keep or refund'
  | 'ask for the settlement'
  | 'wait for the customer';

/** The longest wait for a lender with too many running calls. The first is 1 to 2 s, and each further one is twice as long. */
const LONGEST_BUSY_MS = 30_000;
/** A payment that the bank does not decide on for longer no longer holds the expiry. If it is paid later, it is refunded. */
const LONGEST_PAYMENT_MS = 86_400_000;
/** An application that the lender does not decide on for longer no longer holds the expiry either. */
const LONGEST_DECISION_MS = 30 * 86_400_000;
/** A settlement that is not named for longer is no longer asked for. */
const LONGEST_SETTLEMENT_MS = 40 * 86_400_000;
/** Between two questions for it: a tenth of the time since the completion, within these limits. */
const ASK_FOR_SETTLEMENT_MS = { least: 10_000, most: 86_400_000 };
/** As long as for a payment, if the lender waits for the customer. */
const LONGEST_ACTION_MS = LONGEST_PAYMENT_MS;

interface CheckoutActivityOptions {
  db: Db;
  callLender: CallLender;
  /** By the kind of account. */
  lenderSettlements: (isSandbox: boolean) => AskForSettlement | undefined;
  payments: PaymentProviders;
  core: Pick<OrderCore, 'find' | 'report' | 'holdExpiry' | 'recordSettlement'>;
  /** The pages of an order are at `<this>/pay/<pay link id>/`. */
  checkoutBaseUrl: string;
}

export type CheckoutActivities = ReturnType<typeof createCheckoutActivities>;

/** The calls to lenders, banks and the order that a checkout makes. Each is safe to repeat. */
export function createCheckoutActivities(options: CheckoutActivityOptions) {
  const { db, callLender, lenderSettlements, payments, core, checkoutBaseUrl } = options;

  /** @param waitMs until the next attempt, if it is longer than usual */
  const hold = (order: Order, application: Application | undefined, waitMs?: number): Promise<void> =>
    holdExpiry({ core, db }, { order, application }, waitMs);

  /** Returns a function that asks who has paid the order here for its settlement; undefined if they name none. */
  async function settlementQuestion(order: Order): Promise<(() => Promise<Settlement | undefined>) | undefined> {
    const payment = await findLastPayment(db, order.id);
    if (payment?.status === 'paid') {
      const provider = order.sandbox ? payments.sandbox : payments.live;
      return provider?.settlementOf && (async () => provider.settlementOf?.(payment.id));
    }
    const ask = lenderSettlements(order.sandbox);
    const application = await findApplication(db, order.id);
    const { id: orderId, amountPence } = order;
    return ask && application?.agreedAt ? () => ask({ id: application.id, orderId, amountPence }) : undefined;
  }

  async function isSettlementAwaited(order: Order | undefined): Promise<boolean> {
    if (order?.status !== 'SUCCESSFUL' || order.settlement) return false;
    return sinceCompletionMs(order, await readClock(db)) < LONGEST_SETTLEMENT_MS && !!(await settlementQuestion(order));
  }

  return {
    /** Reads what the customer has done and what is left to do about it. */
    async findNextStep(orderId: string): Promise<CheckoutStep> {
      const order = await core.find(orderId);
      const isClosed = !order || isFinal(order.status);
      const open = await findOpenPayments(db, orderId);
      if (!isClosed && open.some(({ status }) => isCurrent(status))) return 'ask the bank';
      if (open.length > 0) return 'keep or refund';
      if (await isSettlementAwaited(order)) return 'ask for the settlement';
      const application = isClosed ? undefined : await findApplication(db, orderId);
      if (application?.agreedAt && order?.status === 'APPROVED') return 'report the agreement';
      return application?.submitted ? 'ask the lender' : 'wait for the customer';
    },

    /**
     * Asks the lender to decide on an order's application. Fails until it has, each time with the delay until the next
     * attempt.
     * @returns what the order has to know; null if nothing: the customer or the order has moved on, or can continue
     */
    async askLender(orderId: string): Promise<CheckoutReport | null> {
      const order = await core.find(orderId);
      const application = await findApplication(db, orderId);
      if (!order || isFinal(order.status) || !application?.submitted) return null;
      const hasChoice = availableTerms(payments, order).includes('PAY_NOW');
      if (application.decision) {
        await hold(order, application);
        return toReport(application.decision, hasChoice);
      }
      const { id, submitted, actionUrl, returnedAt, referredAt } = application;
      const { amountPence, pricing, sandbox, payLinkId } = order;
      const returnUrl = `${checkoutBaseUrl}/pay/${payLinkId}/return/`;
      const { applicant, at: submittedAt } = submitted;
      const askedAt = await readClock(db);
      const ageMs = askedAt.getTime() - submittedAt.getTime();
      // A customer who leaves the lender's page unfinished does not keep the order open, nor one who returns for days.
      const longestMs = returnedAt && !referredAt ? LONGEST_ACTION_MS : LONGEST_DECISION_MS;
      if ((!actionUrl || referredAt) && ageMs < longestMs) await hold(order, application);
      const times = { submittedAt, returnedAt, askedAt };
      const asked = { id, orderId, amountPence, pricing, applicant, returnUrl, ...times };
      const answer = await callLender(sandbox, asked).catch(lenderFailed);
      if (answer.kind === 'referred') {
        await recordReferral(db, id);
        if (ageMs < LONGEST_DECISION_MS) await hold(order, application, answer.askAgainMs);
        throw askAgain('the lender decides later', answer.askAgainMs);
      }
      if (answer.kind === 'action_required') {
        // The URL may identify the customer, so it stays out of Temporal's history.
        await recordAction(db, id, answer.url, returnedAt);
        throw askAgain('the customer has to act on a page of the lender', answer.askAgainMs);
      }
      if (answer.kind === 'approved' && answer.settlement) await core.recordSettlement(orderId, answer.settlement);
      await recordDecision(db, id, answer);
      const latest = await findApplication(db, orderId);
      // The customer has replaced the application meanwhile, and the workflow has a message about that.
      if (latest?.id !== id || !latest.decision) return null;
      await hold(order, latest);
      return toReport(latest.decision, hasChoice);
    },

    /**
     * Asks the bank for the result of an order's payment. Fails until there is one, each time with the delay until the
     * next attempt.
     */
    async askBank(orderId: string): Promise<PaymentStatus | 'the order is closed'> {
      const order = await core.find(orderId);
      const payment = await findLastPayment(db, orderId);
      if (!order || !payment || isFinal(order.status)) return 'the order is closed';
      const application = await findApplication(db, order.id);
      if (payment.ageMs < LONGEST_PAYMENT_MS) await hold(order, application);
      const status = await refreshPayment({ db, payments, core }, payment).catch(bankFailed);
      if (status === 'paid') await hold(order, application, PAID_HOLD_MS);
      if (isInProgress(status)) throw askAgain('the bank has not decided yet', checkAfterMs(payment));
      return status;
    },

    /**
     * Reports a result to the order, which does not expire while that fails.
     * @returns true if a settlement has to be asked for
     */
    async reportToOrder(orderId: string, { event, actor, reason, paymentTerm }: CheckoutReport): Promise<boolean> {
      try {
        await core.report(orderId, event, { actor, reason, paymentTerm });
      } catch (error) {
        const order = await core.find(orderId);
        if (order && !isFinal(order.status)) await hold(order, await findApplication(db, orderId), REPORT_WITHIN_MS);
        throw error;
      }
      return event === 'completed' && isSettlementAwaited(await core.find(orderId));
    },

    /** Asks for the settlement of a completed order. Fails until it is known, or has not been named for weeks. */
    async askForSettlement(orderId: string): Promise<void> {
      const order = await core.find(orderId);
      if (!order || !(await isSettlementAwaited(order))) return;
      const { least, most } = ASK_FOR_SETTLEMENT_MS;
      const waitMs = Math.min(Math.max(sinceCompletionMs(order, await readClock(db)) / 10, least), most);
      const ask = await settlementQuestion(order);
      const settlement = await ask?.().catch((error: unknown) => {
        throw askAgain((error as Error).message, waitMs);
      });
      if (!settlement) throw askAgain('the settlement is not known yet', waitMs);
      await core.recordSettlement(orderId, settlement);
    },

    /**
     * Keeps the payment that has completed its order. Cancels or refunds the others of a closed order, and those that the
     * bank has reported as paid after they were over. Fails until that is done.
     * @returns true if a settlement has to be asked for
     */
    async settlePayments(orderId: string): Promise<boolean> {
      await closePaidPayment(db, orderId);
      const order = await core.find(orderId);
      for (const payment of await findOpenPayments(db, orderId)) {
        if (isCurrent(payment.status) && !(order && isFinal(order.status))) continue;
        const status = await reversePayment({ db, payments }, payment).catch(bankFailed);
        if (isInProgress(status)) throw askAgain('the bank still processes the payment', checkAfterMs(payment));
      }
      return isSettlementAwaited(order);
    },
  };
}

/**
 * A decline ends the order only if the customer cannot pay now instead. After `failed` the customer can apply again. In
 * both cases the customer can end the order on the page.
 */
function toReport({ kind }: LenderDecision, mayPayNow: boolean): CheckoutReport | null {
  const canContinue = kind === 'failed' || (kind === 'declined' && mayPayNow);
  if (canContinue) return null;
  return { event: kind, actor: 'checkout', reason: DECISION_REASONS[kind], paymentTerm: 'PAY_LATER' };
}

/** The failure of the activity, for an error of the lender. Omits its cause, whose text Temporal's history would keep. */
function lenderFailed(error: unknown): never {
  if (error instanceof LenderBusy) {
    const delayMs = Math.min(2 ** Context.current().info.attempt * 1000, LONGEST_BUSY_MS);
    // At random times, because applications that were refused together would be refused together again.
    throw askAgain(error.message, delayMs * (0.5 + Math.random() / 2));
  }
  throw error instanceof LenderUnavailable ? ApplicationFailure.retryable(error.message, 'LenderUnavailable') : error;
}

const sinceCompletionMs = ({ completedAt }: Order, now: Date): number =>
  completedAt === null ? 0 : now.getTime() - Date.parse(completedAt);

/** A payment is checked again after a quarter of its age, within these limits. */
function checkAfterMs({ ageMs }: Payment): number {
  return Math.min(Math.max(ageMs / 4, 1000), 60_000);
}

/** Temporal waits, and shows the message and the time of the next attempt. */
function askAgain(message: string, delayMs: number): ApplicationFailure {
  const category = ApplicationFailureCategory.BENIGN;
  const nextRetryDelay = Math.round(delayMs);
  const failure = ApplicationFailure.create({ message, type: 'NotDecided', category, nextRetryDelay });
  // Nothing failed: the Temporal UI would show the stack beside the message.
  failure.stack = '';
  return failure;
}

/** As `lenderFailed`, for an error of the payment provider. */
function bankFailed(error: unknown): never {
  throw error instanceof PaymentProviderUnavailable
    ? ApplicationFailure.retryable(error.message, 'BankUnavailable')
    : error;
}
