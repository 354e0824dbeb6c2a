import type { Logger } from 'pino';
import { Problem } from '../contracts/problem';
import type { Db } from '../db/pool';
import { digestOf } from '../db/api-keys';
import type { Caller } from '../db/sellers';
import { clientNetwork } from './client-network';
import type { Context, Next } from './context';
import { createCounter, type RequestCounter, type Usage } from './request-counter';

const MINUTE_MS = 60_000;
/** Maximum time a request waits until Postgres has counted it. */
const SYNC_TIMEOUT_MS = 500;

/** Maximum numbers of requests per window. */
export interface RateLimitSettings {
  windowMs: number;
  /** Of any kind, from one address. */
  address: number;
  /** With an invalid key, from one address. */
  authFailures: number;
  /** With one key, unless the seller's account has its own limit. */
  key: number;
  /** With one pay link. */
  payLink: number;
}

type Ctx = Pick<Context, 'ip' | 'append'>;
export type RateLimits = ReturnType<typeof createRateLimits>;

/** Reports each limit that applies in the headers of draft-ietf-httpapi-ratelimit-headers-11. */
export function createRateLimits(db: Db, settings: RateLimitSettings, log: Logger) {
  const counter = (name: string, windowMs = settings.windowMs): RequestCounter =>
    createCounter(db, { name, windowMs, syncTimeoutMs: SYNC_TIMEOUT_MS }, log);
  const addresses = counter('address');
  const failures = counter('auth-failures');
  const keys = counter('key');
  const sellers = counter('seller', MINUTE_MS);
  const payLinks = counter('pay-link');
  /** Digests of keys that were valid when last used. */
  const validKeys = new Set<string>();

  return {
    /** A middleware that counts the request before any other work. */
    countAddress: async (ctx: Ctx, next: Next): Promise<void> => {
      await count(ctx, addresses, clientNetwork(ctx.ip), settings.address);
      await next();
    },

    /**
     * Refuses further keys from an address that sent too many invalid ones. A key that was valid when last used stays
     * usable, so that one shop process with an old key does not block the others.
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
      setRateLimitHeaders(ctx, failures, await failures.increment(clientNetwork(ctx.ip), settings.authFailures));
    },

    /**
     * Counts a request with a valid key. If the seller's account has its own limit, all its keys share that limit, and
     * the limit per key does not apply.
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
  const usage = await counter.increment(client, limit);
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
      `Nothing changed. Retry in ${wait} s.`,
    { headers: { 'Retry-After': String(wait) } },
  );
}
