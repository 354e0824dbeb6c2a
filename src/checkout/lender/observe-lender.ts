import type { Lender } from './lender';
import { type AccountMode, lenderDuration, lenderRequests, trackFailures } from '../../telemetry/metrics';

/** Counts the lender's answers. The breaker `lender` is open while the last answer of the live lender was a failure. */
export function observeLender(lender: Lender, mode: AccountMode): Lender {
  let isFailing = false;
  // The sandbox lender fails only for test customers.
  const recordFailure = mode === 'live' ? trackFailures('lender', () => isFailing) : () => undefined;
  return {
    ...lender,
    async decide(application, signal) {
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
    },
  };
}
