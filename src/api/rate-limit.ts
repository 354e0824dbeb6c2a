import type { Logger } from 'pino';
import { Problem } from '../contracts/problem';
import type { Db } from '../db/pool';
import { digestOf } from '../db/api-keys';
import type { Caller } from '../db/sellers';
import { clientNetwork } from './client-network';
import type { Context, Next } from './context';
import type { RequestCounter, Usage } from './request-counter';
import { createCounter } from './request-counter';

const MINUTE_MS = 60_000;
/** No caller waits longer to be counted by Postgres. */
const SHARE_TIMEOUT_MS = 500;

/** How many requests there may be in a window. */
export interface RateLimitSettings {
  windowMs: number;
  /** From one address, whatever they are. */
  address: number;
  /** From one address, with keys that are refused. */
  authFailures: number;
  /** With one key, unless its account has a limit of its own. */
  key: number;
  /** With one pay link. */
  payLink: number;
}

type Ctx = Pick<Context, 'ip' | 'append'>;
export type RateLimits = ReturnType<typeof createRateLimits>;

/** Each limit that applies is told in the headers of draft-ietf-httpapi-ratelimit-headers-11. */
export function createRateLimits(db: Db, settings: RateLimitSettings, log: Logger) {
  const counter = (name: string, windowMs = settings.windowMs): RequestCounter =>
    createCounter(db, { name, windowMs, shareTimeoutMs: SHARE_TIMEOUT_MS }, log);
  const addresses = counter('address');
  const failures = counter('auth-failures');
  const keys = counter('key');
  const sellers = counter('seller', MINUTE_MS);
  const payLinks = counter('pay-link');
  /** Digests, as many as there are keys at the most. */
  const validKeys = new Set<string>();

  return {
    /** A middleware for all that counts: nothing is done for a request before. */
    countAddress: async (ctx: Ctx, next: Next): Promise<void> => {
      await count(ctx, addresses, clientNetwork(ctx.ip), settings.address);
      await next();
    },

    /**
     * Keeps an address whose keys were refused too often from trying more, but not from using one that was valid the
     * last time: a worker of a shop with an old key must not stop the others.
     * @throws Problem `rate_limited`
     */
    checkFailures(ctx: Ctx, key: string): void {
      const usage = failures.peek(clientNetwork(ctx.ip), settings.authFailures);
      if (!usage || usage.used < usage.limit || validKeys.has(idOf(key))) return;
      setRateLimitHeaders(ctx, failures, usage);
      throw rateLimited(failures, usage);
    },

    async countFailure(ctx: Ctx, key: string): Promise<void> {
      validKeys.delete(idOf(key));
      setRateLimitHeaders(ctx, failures, await failures.add(clientNetwork(ctx.ip), settings.authFailures));
    },

    /**
     * Counts a request with a key that is valid. Where the seller's account has a limit, all its keys together are held
     * to that, in place of the service's limit for each key.
     * @throws Problem `rate_limited`
     */
    async countCaller(ctx: Ctx, key: string, caller: Caller): Promise<void> {
      validKeys.add(idOf(key));
      if (caller.kind === 'seller' && caller.seller.rateLimit !== null) {
        await count(ctx, sellers, caller.seller.id, caller.seller.rateLimit);
      } else {
        await count(ctx, keys, idOf(key), settings.key);
      }
    },

    /** @throws Problem `rate_limited` */
    async countPayLink(ctx: Ctx, payLinkId: string): Promise<void> {
      await count(ctx, payLinks, idOf(payLinkId), settings.payLink);
    },
  };
}

const idOf = (key: string): string => digestOf(key).toString('hex');
const toSeconds = (ms: number): number => Math.ceil(ms / 1000);

/** @throws Problem `rate_limited` */
async function count(ctx: Ctx, counter: RequestCounter, client: string, limit: number): Promise<void> {
  const usage = await counter.add(client, limit);
  setRateLimitHeaders(ctx, counter, usage);
  if (usage.used > usage.limit) throw rateLimited(counter, usage);
}

function setRateLimitHeaders(ctx: Ctx, { name, windowMs }: RequestCounter, { limit, used, resetMs }: Usage): void {
  ctx.append('RateLimit-Policy', `"${name}";q=${limit};w=${toSeconds(windowMs)}`);
  ctx.append('RateLimit', `"${name}";r=${Math.max(limit - used, 0)};t=${toSeconds(resetMs)}`);
}

function rateLimited({ name, windowMs }: RequestCounter, { limit, resetMs }: Usage): Problem {
  const wait = toSeconds(resetMs);
  return new Problem(
    'rate_limited',
    `The limit "${name}" of ${limit} requests in ${toSeconds(windowMs)} s is reached. ` +
      `Nothing was changed; come back in ${wait} s.`,
    { headers: { 'Retry-After': String(wait) } },
  );
}
