import type { Logger } from 'pino';
import { REMOTE_BUCKETS, beginAtZero, counter, histogram } from '../../telemetry/metrics';
import type { Settlement } from '../../domain/order';
import type { Offer } from '../domain/application';
import { type AccountMode, describe, guardCall, loggedFor, remedyFor } from '../guard-call';
import { checkAnswer, checkOffer, checkSettlement } from './check-answer';
import {
  type AgreedApplication,
  type Lender,
  type LenderAnswer,
  type LenderApplication,
  type Lenders,
  LenderUnavailable,
} from './lender';

/** Shorter than the 30 s of an activity, so that the failure names a lender that hangs as its cause. */
const LENDER_DEADLINE_MS = 25_000;
/** The maximum number of concurrent calls to one lender. It leaves slots of the worker for the bank while a lender hangs. */
const CALLS_PER_LENDER = 40;

const lenderRequests = counter('lender_requests_total', 'Requests to the lender.', 'mode', 'outcome');
const lenderDuration = histogram(
  'lender_request_duration_seconds',
  'Duration of a request to the lender.',
  REMOTE_BUCKETS,
  'mode',
);
const LENDER_OUTCOMES = ['approved', 'declined', 'failed', 'referred', 'action_required', 'unavailable'];
for (const mode of ['sandbox', 'live'] satisfies AccountMode[]) {
  beginAtZero(lenderRequests, 'outcome', LENDER_OUTCOMES, { mode });
}

/** The lender was not called, because too many calls to it are running. */
export class LenderBusy extends Error {}

/** Asks the lender of an account to decide. @throws LenderUnavailable, LenderBusy */
export type CallLender = (isSandbox: boolean, application: LenderApplication) => Promise<LenderAnswer>;

/**
 * Counts each call of the lenders and makes it end, and limits how many run at the same time: for a further one, it
 * throws LenderBusy.
 */
export function guardLenders(
  lenders: Lenders,
  {
    log,
    deadlineMs = LENDER_DEADLINE_MS,
    maxCalls = CALLS_PER_LENDER,
  }: { log?: Logger; deadlineMs?: number; maxCalls?: number } = {},
): CallLender {
  const running = { sandbox: 0, live: 0 };
  return async (isSandbox, application) => {
    const mode = isSandbox ? 'sandbox' : 'live';
    const lender = lenders[mode];
    if (!lender) throw new LenderUnavailable(`no lender is configured for ${remedyFor(isSandbox)}`);
    if (running[mode] >= maxCalls) throw new LenderBusy(`${maxCalls} other applications wait for the lender's answer`);
    running[mode] += 1;
    const end = lenderDuration.startTimer({ mode });
    try {
      return await guardCall((signal) => lender.decide(application, signal), {
        who: 'the lender',
        deadlineMs,
        Unavailable: LenderUnavailable,
        check: (answer) => checkAnswer(answer, application),
        log: loggedFor(mode, log),
        count: (result) => lenderRequests.inc({ mode, outcome: result?.value.kind ?? 'unavailable' }),
      });
    } finally {
      running[mode] -= 1;
      end();
    }
  };
}

/** Asks a lender for the repayments of an amount; undefined if its adapter fails, or quotes what cannot be right. */
export function quoteOf(
  lender: Lender,
  order: Parameters<Lender['quote']>[0],
  today: string,
  log: Logger,
): Offer | undefined {
  try {
    return checkOffer(lender.quote(order, today), order.amountPence);
  } catch (error) {
    log.error({ error: describe(error) }, "the lender's adapter quoted no valid repayments");
    return undefined;
  }
}

/** Asks the lender of an account for a settlement. @throws LenderUnavailable */
export type AskForSettlement = (application: AgreedApplication) => Promise<Settlement | undefined>;

/** Returns the call of an account's lender for a settlement; undefined if it names none. */
export const guardSettlements =
  (lenders: Lenders, log?: Logger) =>
  (isSandbox: boolean): AskForSettlement | undefined => {
    const mode = isSandbox ? 'sandbox' : 'live';
    const lender = lenders[mode];
    if (!lender?.settlementOf) return undefined;
    return (application) =>
      guardCall(async (signal) => lender.settlementOf?.(application, signal), {
        who: 'the lender',
        deadlineMs: LENDER_DEADLINE_MS,
        Unavailable: LenderUnavailable,
        check: checkSettlement,
        count: () => undefined,
        log: loggedFor(mode, log),
      });
  };
