import { once } from 'node:events';
import { trackFailures } from '../../telemetry/metrics';
import { type AccountMode, lenderDuration, lenderRequests } from '../metrics';
import type { Lender } from './lender';

/** The maximum number of concurrent calls to one lender. It leaves slots of the worker for the bank while a lender hangs. */
const CALLS_PER_LENDER = 40;

/** The lender was not called, because too many calls to it are running. */
export class LenderBusy extends Error {}

/** Makes each call of `decide` end and be counted, and limits how many run at the same time. */
export function guardLender(lender: Lender, mode: AccountMode): Lender {
  // Outside `abortable`: a call that the adapter does not end has left its slot.
  return limitCalls(observeLender(abortable(lender), mode), CALLS_PER_LENDER);
}

const withDecide = (lender: Lender, decide: Lender['decide']): Lender => ({
  reviewTime: lender.reviewTime,
  quote: (order, today) => lender.quote(order, today),
  decide,
});

/** Makes `decide` end when its signal aborts, even if the adapter ignores the signal. */
export function abortable(lender: Lender): Lender {
  return withDecide(lender, async (application, signal) => {
    const aborted = async (): Promise<never> => {
      await once(signal, 'abort');
      throw signal.reason;
    };
    signal.throwIfAborted();
    return Promise.race([lender.decide(application, signal), aborted()]);
  });
}

/**
 * Makes at most `limit` calls of `decide` at the same time. For a further one, it throws LenderBusy immediately, so that
 * calls to a lender that hangs do not take the place of other work.
 */
export function limitCalls(lender: Lender, limit: number): Lender {
  let running = 0;
  return withDecide(lender, async (application, signal) => {
    if (running >= limit) throw new LenderBusy(`${limit} other applications wait for the lender's answer`);
    running += 1;
    try {
      return await lender.decide(application, signal);
    } finally {
      running -= 1;
    }
  });
}

/** Counts the lender's answers. The breaker `lender` is open while the last answer of the live lender was a failure. */
export function observeLender(lender: Lender, mode: AccountMode): Lender {
  let isFailing = false;
  // The sandbox lender fails only for test customers.
  const recordFailure = mode === 'live' ? trackFailures('lender', () => isFailing) : () => undefined;
  return withDecide(lender, async (application, signal) => {
    const end = lenderDuration.startTimer({ mode });
    try {
      const answer = await lender.decide(application, signal);
      isFailing = false;
      lenderRequests.inc({ mode, outcome: answer.kind });
      return answer;
    } catch (error) {
      const isCancelled = signal.aborted && (signal.reason as Error | undefined)?.name !== 'TimeoutError';
      if (!isCancelled) {
        isFailing = true;
        recordFailure();
      }
      lenderRequests.inc({ mode, outcome: isCancelled ? 'cancelled' : 'unavailable' });
      throw error;
    } finally {
      end();
    }
  });
}
