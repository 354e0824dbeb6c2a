import { Problem } from '../contracts/problem';
import { sellerOf } from './authenticate';
import type { Context, Next } from './context';
import { limitPerKey } from '../concurrency/limit-per-key';

/**
 * Limits how many requests of one seller run at the same time in this process, so that a seller who sends many
 * expensive requests does not delay others.
 * @param overflow what happens to further requests: they wait in order, or fail
 * @throws Problem `rate_limited` if further requests fail
 */
export function limitInFlight(limit: number, overflow: 'wait' | 'fail') {
  const sellers = limitPerKey(limit);
  return async (ctx: Context, next: Next): Promise<void> => {
    const { id } = sellerOf(ctx);
    if (overflow === 'fail' && sellers.isFull(id)) throw tooMany(limit);
    await sellers.run(id, next);
  };
}

function tooMany(limit: number): Problem {
  const detail = `An API process runs at most ${limit} of an account's requests of this kind at the same time. Nothing changed. Retry in 1 s.`;
  return new Problem('rate_limited', detail, { retryAfterS: 1 });
}
