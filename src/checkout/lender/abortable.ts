import { once } from 'node:events';
import type { Lender } from './lender';

/** Makes `decide` end when its signal aborts, even if the adapter ignores the signal. */
export function abortable(lender: Lender): Lender {
  return {
    reviewTime: lender.reviewTime,
    quote: (order, today) => lender.quote(order, today),
    async decide(application, signal) {
      const aborted = async (): Promise<never> => {
        await once(signal, 'abort');
        throw signal.reason;
      };
      signal.throwIfAborted();
      return Promise.race([lender.decide(application, signal), aborted()]);
    },
  };
}
