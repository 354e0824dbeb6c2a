import { setTimeout as delay } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { Problem } from '../contracts/problem';
import type { Context } from './context';

const MINUTE_MS = 60_000;
/** An answer counts as one more request for each of these. */
const ANSWER_BYTES = 16_384;
/** The requests for one pay link from all networks together, as a multiple of those from one. */
const NETWORKS = 10;
/** A client that repeats a request immediately gets one answer per second and connection. */
export const delayAnswer = (): Promise<void> => delay(1000);

/** Maximum numbers of requests per window. */
interface RateLimitSettings {
  windowMs: number;
  /** Without a valid key, from one address. */
  address: number;
  /** With one seller key, unless the seller's account has its own limit. */
  key: number;
  /** With one checkout key, which serves the customers of all sellers. */
  checkoutKey: number;
  /** With one pay link, from one network. */
  payLink: number;
}

type Ctx = Pick<Context, 'ip' | 'append'>;
export type RateLimits = ReturnType<typeof createRateLimits>;

/**
 * Counts requests in the memory of this process, in windows that start with a client's first request. Reports each limit
 * that applies in the headers of draft-ietf-httpapi-ratelimit-headers-11.
 */
export function createRateLimits(settings: RateLimitSettings) {
  const addresses = createLimiter('address', settings.windowMs);
  const keys = createLimiter('key', settings.windowMs);
  const sellers = createLimiter('seller', MINUTE_MS);
  const payLinks = createLimiter('pay-link', settings.windowMs);
  const payLinkTotals = createLimiter('pay-link-total', settings.windowMs);
  const applicants = createLimiter('applicant', settings.windowMs);

  /** @throws Problem `rate_limited` after a second */
  async function countAddress(ctx: Ctx, cost = 1): Promise<void> {
    try {
      await count(ctx, addresses, clientNetwork(ctx.ip), settings.address, cost);
    } catch (error) {
      await delayAnswer();
      throw error;
    }
  }

  return {
    countAddress,

    /**
     * Runs a lookup for a request that may turn out to count against its address: it counts for as long as it runs.
     * @throws Problem `rate_limited` after a second, without the lookup
     */
    async whileCounted<T>(ctx: Ctx, lookUp: () => Promise<T>): Promise<T> {
      const network = clientNetwork(ctx.ip);
      const { consumedPoints } = await addresses.penalty(network);
      if (consumedPoints > settings.address) await countAddress(ctx, 0);
      try {
        return await lookUp();
      } finally {
        await addresses.reward(network);
      }
    },

    /**
     * Counts a request, if it has a valid key. If the seller's account has its own limit, all its keys share that
     * limit, and the limit per key does not apply.
     * @param cost the number of requests that it counts as
     * @throws Problem `rate_limited`
     */
    async countCaller(ctx: Ctx & Pick<Context, 'state'>, cost: number): Promise<void> {
      const { caller, apiKey } = ctx.state;
      if (!caller || apiKey === undefined) return;
      if (caller.kind === 'seller' && caller.seller.rateLimit !== null) {
        await count(ctx, sellers, caller.seller.id, caller.seller.rateLimit, cost);
      } else {
        const limit = caller.kind === 'checkout' ? settings.checkoutKey : settings.key;
        await count(ctx, keys, apiKey, limit, cost);
      }
    },

    networkOf: ({ ip }: Pick<Ctx, 'ip'>): string => clientNetwork(ip),

    /** Counts a large answer to a caller. It is sent, whatever the limit. */
    async countAnswer(ctx: Ctx & Pick<Context, 'state' | 'remove'>, bytes: number): Promise<void> {
      const cost = Math.floor(bytes / ANSWER_BYTES);
      if (cost === 0 || !ctx.state.caller) return;
      ctx.remove('RateLimit-Policy');
      ctx.remove('RateLimit');
      await this.countCaller(ctx, cost).catch(() => undefined);
    },

    /**
     * Counts a request against the limits of an order's pay link: of its network, and of all together. The applicant's
     * browser has a limit of its own, so that nobody else with the link can lock it out.
     * @param isApplicant true if the browser is the one that submitted the application
     * @throws Problem `rate_limited`
     */
    async countPayLink(ctx: Ctx, payLinkId: string, isApplicant: () => Promise<boolean>): Promise<void> {
      try {
        await count(ctx, payLinks, `${payLinkId}:${clientNetwork(ctx.ip)}`, settings.payLink);
        await count(ctx, payLinkTotals, payLinkId, settings.payLink * NETWORKS);
      } catch (error) {
        if (!(await isApplicant())) throw error;
        await count(ctx, applicants, payLinkId, settings.payLink);
      }
    },

    /** Reports the limit of an address. Neither counts the request nor refuses it. */
    async reportAddress(ctx: Ctx): Promise<void> {
      await count(ctx, addresses, clientNetwork(ctx.ip), settings.address, 0).catch(() => undefined);
    },
  };
}

/** Deletes a count when its window ends. `points` is required, but unused: the limits of sellers differ. */
function createLimiter(keyPrefix: string, windowMs: number): RateLimiterMemory {
  return new RateLimiterMemory({ keyPrefix, points: 0, duration: windowMs / 1000 });
}

/** @throws Problem `rate_limited` */
async function count(ctx: Ctx, limiter: RateLimiterMemory, client: string, limit: number, cost = 1): Promise<void> {
  const name = limiter.keyPrefix;
  const windowS = Math.ceil(limiter.duration);
  // A call that costs more than the whole limit could never succeed.
  const counted = Math.min(cost, limit);
  const { consumedPoints, msBeforeNext } = await limiter.penalty(client, counted);
  const retryAfterS = Math.ceil(msBeforeNext / 1000);
  ctx.append('RateLimit-Policy', `"${name}";q=${limit};w=${windowS}`);
  ctx.append('RateLimit', `"${name}";r=${Math.max(limit - consumedPoints, 0)};t=${retryAfterS}`);
  if (consumedPoints <= limit) return;
  const multiple = counted > 1 ? ` This one counts as ${counted}.` : '';
  throw new Problem(
    'rate_limited',
    `The limit "${name}" of ${limit} requests in ${windowS} s is reached.${multiple} Nothing changed. Retry in ${retryAfterS} s.`,
    { retryAfterS },
  );
}

/**
 * The network that a limit by address counts: an IPv4 address itself, or the /64 of an IPv6 address, because one
 * machine can use any address of its /64. An IPv4-mapped address counts as the IPv4 address. A port, which some proxies
 * add, is ignored. All text that is not an address counts as one client.
 */
export function clientNetwork(ip: string): string {
  const host = ip.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
  if (!ipaddr.isValid(host)) return 'unknown';
  const address = ipaddr.process(host);
  if (address instanceof ipaddr.IPv4) return address.toString();
  return `${new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`;
}
