import type { Lender } from '../lender/lender';
import { lenderDuration, lenderRequests, trackBreaker } from './metrics';

/** Counts the lender's answers. The breaker `lender` is open while the last answer was a failure. */
export function observeLender(lender: Lender): Lender {
  let isFailing = false;
  trackBreaker('lender', () => Number(isFailing));
  return {
    ...lender,
    async decide(application, signal) {
      const end = lenderDuration.startTimer();
      try {
        const answer = await lender.decide(application, signal);
        isFailing = false;
        lenderRequests.inc({ outcome: answer.kind });
        return answer;
      } catch (error) {
        const isCancelled = signal.aborted && (signal.reason as Error | undefined)?.name !== 'TimeoutError';
        isFailing ||= !isCancelled;
        lenderRequests.inc({ outcome: isCancelled ? 'cancelled' : 'unavailable' });
        throw error;
      } finally {
        end();
      }
    },
  };
}
