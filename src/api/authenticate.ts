import { Problem } from '../contracts/problem';
import { type Caller, findCaller, type Seller } from '../db/sellers';
import type { Db } from '../db/pool';
import { notFound } from '../orders/not-found';
import type { Context, Next } from './context';
import type { RateLimits } from './rate-limit';

const BEARER = /^Bearer +([\w-]{1,200})$/i;

/** Creates a middleware that accepts live keys of one kind and sets `ctx.state.caller`. */
export type Authenticate = ReturnType<typeof createAuthentication>;

export function createAuthentication(db: Db, limits: RateLimits) {
  return (kind: Caller['kind']) =>
    async (ctx: Context, next: Next): Promise<void> => {
      const key = BEARER.exec(ctx.get('Authorization'))?.[1];
      // Without a key there is nothing to guess: only the limit by address applies.
      if (key === undefined) throw unauthorized(kind);
      limits.checkFailures(ctx, key);
      const caller = await findCaller(db, key);
      if (caller?.kind !== kind) {
        await limits.countFailure(ctx, key);
        throw unauthorized(kind);
      }
      ctx.state.caller = caller;
      ctx.state.apiKey = key;
      await limits.countCaller(ctx, key, caller);
      await next();
    };
}

function unauthorized(kind: Caller['kind']): Problem {
  return new Problem('unauthorized', `Send "Authorization: Bearer <key>" with a valid ${kind} key.`, {
    headers: { 'WWW-Authenticate': 'Bearer' },
  });
}

/**
 * The seller whose key authenticated the request.
 * @throws Problem `not_found` if the path names another seller, whether or not that seller exists
 */
export function sellerOf(ctx: Context): Seller {
  const { caller } = ctx.state;
  if (caller?.kind !== 'seller') throw new Error('the route has no seller authentication');
  const { sellerId } = ctx.params;
  if (sellerId !== undefined && sellerId.toLowerCase() !== caller.seller.id) throw notFound();
  return caller.seller;
}
