import type { Lender } from './lender';

/** The lender was not called, because too many calls to it are running. */
export class LenderBusy extends Error {}

/**
 * Makes at most `limit` calls of `decide` at the same time. For a further one, it throws LenderBusy immediately, so that calls to
 * a lender that hangs do not take the place of other work.
 */
export function limitCalls(lender: Lender, limit: number): Lender {
  let running = 0;
  return {
    reviewTime: lender.reviewTime,
    quote: (order, today) => lender.quote(order, today),
    async decide(application, signal) {
      if (running >= limit) throw new LenderBusy(`${limit} other applications wait for the lender's answer`);
      running += 1;
      try {
        return await lender.decide(application, signal);
      } finally {
        running -= 1;
      }
    },
  };
}
