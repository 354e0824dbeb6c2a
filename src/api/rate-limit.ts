import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import ipaddr from 'ipaddr.js';
import { Problem } from '../contracts/problem';
import type { Db } from '../db/pool';
import { keyDigest } from '../db/api-keys';
import type { Context } from './context';
import { createCounter, type RequestCounter, type Usage } from './request-counter';

const MINUTE_MS = 60_000;
/** The requests for one pay link from all networks together, as a multiple of those from one. */
const NETWORKS = 10;
/**
 * Attempts per hour to enter the code of one order. A code has 40 random bits, so even the limit of the order leaves no
 * chance to guess it; those of network and browser keep others from using it up.
 */
const CODE_ATTEMPTS = { network: 100, browser: 10, order: 1000 };
/** Maximum time a request waits until Postgres has counted it. */
const SYNC_TIMEOUT_MS = 500;

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

/** Reports each limit that applies in the headers of draft-ietf-httpapi-ratelimit-headers-11. */
export function createRateLimits(db: Db, settings: RateLimitSettings, log: Logger) {
  const counter = (name: string, windowMs = settings.windowMs): RequestCounter =>
    createCounter(db, { name, windowMs, syncTimeoutMs: SYNC_TIMEOUT_MS }, log);
  const addresses = counter('address');
  const keys = counter('key');
  const sellers = counter('seller', MINUTE_MS);
  const payLinks = counter('pay-link');
  const payLinkTotals = counter('pay-link-total');
  const applicants = counter('applicant');
  const codes = counter('code', 60 * MINUTE_MS);

  return {
    /** @throws Problem `rate_limited` after a second */
    async countAddress(ctx: Ctx): Promise<void> {
      try {
        await count(ctx, addresses, clientNetwork(ctx.ip), settings.address);
      } catch (error) {
        await delayAnswer();
        throw error;
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
        await count(ctx, keys, idOf(apiKey), limit, cost);
      }
    },

    /**
     * Counts a request against the limits of an order's pay link: of its network, and of all together. The applicant's
     * browser has a limit of its own, so that nobody else with the link can lock it out.
     * @param isApplicant true if the browser is the one that submitted the application
     * @throws Problem `rate_limited`
     */
    async countPayLink(ctx: Ctx, payLinkId: string, isApplicant: () => Promise<boolean>): Promise<void> {
      const id = idOf(payLinkId);
      try {
        await count(ctx, payLinks, `${id}:${clientNetwork(ctx.ip)}`, settings.payLink);
        await count(ctx, payLinkTotals, id, settings.payLink * NETWORKS);
      } catch (error) {
        if (!(await isApplicant())) throw error;
        await count(ctx, applicants, id, settings.payLink);
      }
    },

    /**
     * Counts an attempt to enter the code of an order.
     * @param browser identifies the browser
     * @returns false if its network, its browser or everybody together has made too many
     */
    async countCode(ctx: Pick<Context, 'ip'>, orderId: string, browser: string): Promise<boolean> {
      const limits = [
        [`${orderId}:${clientNetwork(ctx.ip)}`, CODE_ATTEMPTS.network],
        [`${orderId}:${idOf(browser)}`, CODE_ATTEMPTS.browser],
        [orderId, CODE_ATTEMPTS.order],
      ] as const;
      for (const [client, limit] of limits) {
        if ((await codes.increment(client, limit)).used > limit) return false;
      }
      return true;
    },

    /** Reports the limit of an address without counting the request. */
    async reportAddress(ctx: Ctx): Promise<void> {
      setRateLimitHeaders(ctx, addresses, await addresses.increment(clientNetwork(ctx.ip), settings.address, 0));
    },
  };
}

const idOf = (key: string): string => keyDigest(key).toString('hex');
const toSeconds = (ms: number): number => Math.ceil(ms / 1000);

/** @throws Problem `rate_limited` */
async function count(ctx: Ctx, counter: RequestCounter, client: string, limit: number, cost = 1): Promise<void> {
  // A call that costs more than the whole limit could never succeed.
  const usage = await counter.increment(client, limit, Math.min(cost, limit));
  setRateLimitHeaders(ctx, counter, usage);
  if (usage.used > usage.limit) throw rateLimited(counter, usage);
}

function setRateLimitHeaders(ctx: Ctx, { name, windowMs }: RequestCounter, { limit, used, resetMs }: Usage): void {
  ctx.append('RateLimit-Policy', `"${name}";q=${limit};w=${toSeconds(windowMs)}`);
  ctx.append('RateLimit', `"${name}";r=${Math.max(limit - used, 0)};t=${toSeconds(resetMs)}`);
}

function rateLimited({ name, windowMs }: RequestCounter, { limit, resetMs }: Usage): Problem {
  const retryAfterS = toSeconds(resetMs);
  return new Problem(
    'rate_limited',
    `The limit "${name}" of ${limit} requests in ${toSeconds(windowMs)} s is reached. ` +
      `Nothing changed. Retry in ${retryAfterS} s.`,
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
  return address instanceof ipaddr.IPv4 ? address.toString() : toNetwork(address);
}

function toNetwork({ parts }: ipaddr.IPv6): string {
  return `${new ipaddr.IPv6([...parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`;
}
