import { Problem } from '../contracts/problem';
import type { Caller, Seller } from '../db/sellers';
import { findCaller } from '../db/sellers';
import type { Db } from '../db/pool';
import { notFound } from '../orders/read-order';
import type { Context, Next } from './context';

const BEARER = /^Bearer +([\w-]{1,200})$/i;

/** Finds out whose key the request presents; one of another kind is no key here. */
export function authenticate(db: Db, kind: Caller['kind']) {
  return async (ctx: Context, next: Next): Promise<void> => {
    const key = BEARER.exec(ctx.get('Authorization'))?.[1];
    const caller = key === undefined ? undefined : await findCaller(db, key);
    if (caller?.kind !== kind) {
      throw new Problem('unauthorized', `Send "Authorization: Bearer <key>" with a live ${kind} key.`, {
        headers: { 'WWW-Authenticate': 'Bearer' },
      });
    }
    ctx.state.caller = caller;
    await next();
  };
}

/**
 * The seller whose key the request presents.
 * @throws Problem `not_found` where the path names another one: it might as well not exist
 */
export function sellerOf(ctx: Context): Seller {
  const { caller } = ctx.state;
  if (caller?.kind !== 'seller') throw new Error('the route lacks its authentication');
  const { sellerId } = ctx.params;
  if (sellerId !== undefined && sellerId.toLowerCase() !== caller.seller.id) throw notFound();
  return caller.seller;
}
