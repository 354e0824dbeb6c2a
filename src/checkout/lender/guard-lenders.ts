import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { REMOTE_BUCKETS, beginAtZero, counter, histogram, trackFailures } from '../../telemetry/metrics';
import { checkAnswer, checkPage } from './check-answer';
import { type LenderAnswer, type LenderApplication, type Lenders, LenderUnavailable } from './lender';
import { type PaymentProvider, type PaymentProviders, PaymentProviderUnavailable } from '../payments/payment-provider';

/** Shorter than the 30 s of an activity, so that the failure names a lender that hangs as its cause. */
const LENDER_DEADLINE_MS = 25_000;
/** Two calls fit into the 30 s of an activity. */
const PAYMENT_DEADLINE_MS = 10_000;
/** The maximum number of concurrent calls to one lender. It leaves slots of the worker for the bank while a lender hangs. */
const CALLS_PER_LENDER = 40;

/** The kind of account that a call to a lender or a bank is for. */
type AccountMode = 'sandbox' | 'live';

const lenderRequests = counter('lender_requests_total', 'Requests to the lender.', 'mode', 'outcome');
const lenderDuration = histogram(
  'lender_request_duration_seconds',
  'Duration of a request to the lender.',
  REMOTE_BUCKETS,
  'mode',
);
const paymentRequests = counter(
  'payment_requests_total',
  'Requests to the payment provider.',
  'mode',
  'call',
  'outcome',
);
const LENDER_OUTCOMES = ['approved', 'declined', 'failed', 'referred', 'action_required', 'unavailable'];
const PAYMENT_CALLS = ['start', 'statusOf', 'cancel', 'refund'] as const;
for (const mode of ['sandbox', 'live'] satisfies AccountMode[]) {
  beginAtZero(lenderRequests, 'outcome', LENDER_OUTCOMES, { mode });
  for (const call of PAYMENT_CALLS) beginAtZero(paymentRequests, 'outcome', ['succeeded', 'failed'], { mode, call });
}

interface Guard<T> {
  /** Who is called, in the messages of errors. */
  who: string;
  deadlineMs: number;
  Unavailable: typeof LenderUnavailable | typeof PaymentProviderUnavailable;
  /** @returns the value without what the service does not know. @throws Error without any of its values */
  check?: (value: T) => T;
  /** @param result undefined if the call failed */
  count: (result?: { value: T }) => void;
  /** For failures. */
  log: Logger | undefined;
}

/**
 * Makes a call end. Each of its errors, and each invalid answer, becomes an `Unavailable`.
 * @param request its signal aborts once the answer is no longer needed
 */
async function guardCall<T>(
  request: (signal: AbortSignal) => Promise<T>,
  { who, deadlineMs, Unavailable, check = (value) => value, count, log }: Guard<T>,
): Promise<T> {
  const ended = new AbortController();
  async function deadline(): Promise<never> {
    await delay(deadlineMs, undefined, { signal: ended.signal });
    throw new Unavailable(`${who} has not answered within ${deadlineMs} ms`);
  }
  function checked(value: T): T {
    try {
      return check(value);
    } catch (error) {
      throw new Unavailable(`${who}'s adapter returned an invalid answer: ${(error as Error).message}`);
    }
  }
  try {
    const value = checked(await Promise.race([request(ended.signal), deadline()]));
    count({ value });
    return value;
  } catch (error) {
    count();
    // Workflow history keeps the message, and that of an adapter's own error may quote personal data.
    const failure =
      error instanceof Unavailable ? error : new Unavailable(`${who}'s adapter failed: ${describe(error).type}`);
    const cause = error instanceof Error && error.cause !== undefined ? describe(error.cause) : undefined;
    log?.warn({ error: describe(error), cause }, failure.message);
    throw failure;
  } finally {
    ended.abort();
  }
}

/** What an error says about its origin, without its message, which may quote personal data. */
function describe(error: unknown): { type: string; code?: string; at?: string[] } {
  if (!(error instanceof Error)) return { type: typeof error };
  const { code } = error as { code?: unknown };
  const frames = (error.stack ?? '').replace(error.message, '').split('\n');
  return {
    type: error.name,
    ...(typeof code === 'string' && /^\w{1,50}$/.test(code) && { code }),
    at: frames.filter((line) => /^ +at .+:\d+\)?$/.test(line)).map((line) => line.trim()),
  };
}

/** The lender was not called, because too many calls to it are running. */
export class LenderBusy extends Error {}

/** Asks the lender of an account to decide. @throws LenderUnavailable, LenderBusy */
export type CallLender = (isSandbox: boolean, application: LenderApplication) => Promise<LenderAnswer>;

/**
 * Counts each call of the lenders and makes it end, and limits how many run at the same time: for a further one, it
 * throws LenderBusy. The breaker `lender` is open while the last answer of the live lender was a failure.
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
  let isFailing = false;
  const recordFailure = trackFailures('lender', () => isFailing);

  function count(mode: AccountMode, outcome: string): void {
    lenderRequests.inc({ mode, outcome });
    // The sandbox lender fails only for test customers.
    if (mode === 'sandbox') return;
    isFailing = outcome === 'unavailable';
    if (isFailing) recordFailure();
  }

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
        count: (result) => count(mode, result?.value.kind ?? 'unavailable'),
      });
    } finally {
      running[mode] -= 1;
      end();
    }
  };
}

/** Counts each call of the payment providers and makes it end. They throw PaymentProviderUnavailable only. */
export function guardPayments<Sandbox extends PaymentProvider, Live extends PaymentProvider>(
  { sandbox, live }: { sandbox: Sandbox | undefined; live: Live | undefined },
  { log, deadlineMs = PAYMENT_DEADLINE_MS }: { log?: Logger; deadlineMs?: number } = {},
): { sandbox: Sandbox | undefined; live: Live | undefined } {
  return {
    sandbox: sandbox && guardProvider(sandbox, 'sandbox', { log, deadlineMs }),
    live: live && guardProvider(live, 'live', { log, deadlineMs }),
  };
}

function guardProvider<P extends PaymentProvider>(
  provider: P,
  mode: AccountMode,
  { log, deadlineMs }: { log: Logger | undefined; deadlineMs: number },
): P {
  const call = <T>(
    name: (typeof PAYMENT_CALLS)[number],
    request: () => Promise<T>,
    check?: (value: T) => T,
  ): Promise<T> =>
    guardCall(request, {
      who: 'the payment provider',
      deadlineMs,
      Unavailable: PaymentProviderUnavailable,
      ...(check && { check }),
      log: loggedFor(mode, log),
      count: (result) => paymentRequests.inc({ mode, call: name, outcome: result ? 'succeeded' : 'failed' }),
    });
  return {
    ...provider,
    // A spread leaves out what an adapter inherits from its class.
    name: provider.name,
    regulation: provider.regulation,
    banks: provider.banks,
    start: (payment) =>
      call(
        'start',
        () => provider.start(payment),
        (url) => checkPage(url, payment.returnUrl),
      ),
    statusOf: (id) => call('statusOf', () => provider.statusOf(id)),
    cancel: (id) => call('cancel', () => provider.cancel(id)),
    refund: (id) => call('refund', () => provider.refund(id)),
  };
}

/** The sandbox fails only for test customers, which needs no line. */
const loggedFor = (mode: AccountMode, log: Logger | undefined): Logger | undefined =>
  mode === 'live' ? log : undefined;

/** @throws PaymentProviderUnavailable if none is configured */
export function providerOf({ sandbox, live }: PaymentProviders, isSandbox: boolean): PaymentProvider {
  const provider = isSandbox ? sandbox : live;
  if (!provider) throw new PaymentProviderUnavailable(`no payment provider is configured for ${remedyFor(isSandbox)}`);
  return provider;
}

/** Names the accounts that lack a lender or a payment provider, and what an operator can do. */
function remedyFor(isSandbox: boolean): string {
  return isSandbox ? 'sandbox accounts: set HOSTED_CHECKOUT=true' : 'live accounts: set `live` in src/providers.ts';
}
