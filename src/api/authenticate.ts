import type { Middleware, ParameterizedContext } from 'koa';
import { createLookup } from '../concurrency';
import { DEFAULT_LIMIT, MAX_LIMIT } from '../contracts/fields';
import { isProblem, Problem, unavailable } from '../contracts/problem';
import type { Db } from '../db/pool';
import { type Caller, type Seller, findCaller } from '../db/sellers';
import { isUuid } from '../domain/text';
import type { Context, State } from './context';
import { isPlaceholder, notAnId } from './paths';
import type { RateLimits } from './rate-limit';

const BEARER = /^Bearer +([\w-]{1,200})$/i;
/** The part of an unknown key that the response repeats. */
const SHOWN = /^(?:[sc]k_(?:test_)?)?.{0,3}/;

/**
 * Creates a middleware that finds the caller by its key and counts the request.
 * @param kind of the key that is required
 * @param cost the number of requests that a request counts as; default: 1
 */
export type Authenticate = (
  kind: Caller['kind'] | 'none',
  cost?: (ctx: Pick<Context, 'query' | 'accepts'>) => number,
) => Middleware<State>;

/** A CSV of all orders counts as so many requests. */
export const CSV_COST = 20;

/** A list counts as one request for each 10 items that it may return. */
export function listCost({ query }: Pick<Context, 'query' | 'accepts'>): number {
  const limit = Number(query.limit ?? DEFAULT_LIMIT);
  // An invalid limit is refused later.
  return limit > 0 && limit <= MAX_LIMIT ? Math.ceil(limit / 10) : 1;
}

/**
 * Only requests without a valid key count against the limit of their address, so that a key that was used lately is never
 * refused for the mistakes of others at its address. Other keys are not even looked up beyond that limit.
 */
export function createAuthentication(db: Db, limits: RateLimits): Authenticate {
  const lookUp = createCallerLookup(db);
  async function countAnswer(ctx: ParameterizedContext<State>): Promise<void> {
    if (!isPlainObject(ctx.body)) return;
    // Koa would do it later.
    const text = JSON.stringify(ctx.body);
    ctx.body = text;
    await limits.countAnswer(ctx, Buffer.byteLength(text));
  }
  return (kind, costOf = () => 1) =>
    async (ctx, next) => {
      const key = BEARER.exec(ctx.get('Authorization'))?.[1];
      try {
        const caller = key === undefined ? undefined : await lookUp(key, (run) => limits.whileCounted(ctx, run));
        if (caller) Object.assign(ctx.state, { caller, apiKey: key });
      } catch (error) {
        if (isProblem(error, 'rate_limited')) throw error;
        // The key may be valid, and what needs none works without Postgres.
        await limits.reportAddress(ctx);
        if (kind !== 'none') throw error;
        await next();
        return;
      }
      if (ctx.state.caller) await limits.countCaller(ctx, costOf(ctx));
      else await limits.countAddress(ctx);
      if (kind !== 'none' && ctx.state.caller?.kind !== kind) throw unauthorized(kind, ctx);
      await next();
      await countAnswer(ctx);
    };
}

const isPlainObject = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && Object.getPrototypeOf(body) === Object.prototype;

type Ctx = Pick<Context, 'get' | 'state'>;

function unauthorized(kind: Caller['kind'], ctx: Ctx): Problem {
  return new Problem('unauthorized', `${reasonFor(ctx)} Send "Authorization: Bearer <key>" with a valid ${kind} key.`, {
    headers: { 'WWW-Authenticate': 'Bearer' },
  });
}

function reasonFor(ctx: Ctx): string {
  const header = ctx.get('Authorization');
  const key = BEARER.exec(header)?.[1];
  const [, value = ''] = /^Bearer +["'<]?(.*?)[>"']?$/i.exec(header) ?? [];
  if (header === '') return 'The header Authorization is missing.';
  if (/^whsec_/.test(value))
    return 'The value after Bearer is a webhook secret, which verifies webhooks, and not an API key.';
  if (isUuid(value)) return 'The value after Bearer is a UUID, such as a seller ID, and not an API key.';
  if (isPlaceholder(/^Bearer +(.*)$/i.exec(header)?.[1] ?? ''))
    return 'The value after Bearer is a placeholder for an API key.';
  if (/^["']?[sc]k_/.test(header)) return 'The header Authorization has a key without "Bearer " before it.';
  if (key === undefined && /^Bearer +\S/i.test(header))
    return 'The value after Bearer is not an API key. A key has only letters, digits, _ and -; send it without quotes.';
  if (key === undefined) return 'The header Authorization has no Bearer key.';
  if (ctx.state.caller) return `The key is a ${ctx.state.caller.kind} key.`;
  return `The key ${SHOWN.exec(key)?.[0]}… is unknown or revoked, or its account is disabled.`;
}

/**
 * The seller whose key authenticated the request.
 * @throws Problem `not_found` if the path names another seller, whether or not that seller exists
 */
export function sellerOf(ctx: Pick<Context, 'state' | 'params'>): Seller {
  const { caller } = ctx.state;
  if (caller?.kind !== 'seller') throw new Error('the route has no seller authentication');
  const { sellerId } = ctx.params;
  if (sellerId === undefined || sellerId.toLowerCase() === caller.seller.id) return caller.seller;
  const { id, name } = caller.seller;
  if (!isUuid(sellerId)) throw notAnId(sellerId, 'seller', `${id}, to which the key belongs`);
  const detail = `The key belongs to the seller ${id} (${name}), and the path names another one.`;
  throw new Problem('not_found', `${detail} Use this ID in the path, or the key of the other seller.`);
}

/** While Postgres does not answer, callers get a 503 soon, and do not pile up. */
const MAX_WAIT_MS = 3000;
const TOO_MANY = unavailable('Too many keys are looked up. Nothing changed.');

/** Creates a function that finds the owner of a key. Most requests of a shop cost no query. */
export const createCallerLookup = (db: Db) => createLookup((key) => findCaller(db, key), MAX_WAIT_MS, TOO_MANY);
