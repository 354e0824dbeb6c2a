import type { Logger } from 'pino';
import type { RateLimiterRes } from 'rate-limiter-flexible';
import { RLWrapperTimeouts, RateLimiterMemory, RateLimiterPostgres } from 'rate-limiter-flexible';
import type { Db } from '../db/pool';

/** A process shares its count each time it has grown by this part of the limit. */
const STEP = 1 / 50;
/** No request waits longer than this for the shared count. */
const SHARE_TIMEOUT_MS = 500;

export interface CounterOptions {
  name: string;
  /** Requests that a client may make in a window, unless it has a limit of its own. */
  limit: number;
  windowMs: number;
}

/** What a client has used of its limit. */
export interface Usage {
  limit: number;
  used: number;
  /** Until the window ends; more than 0. */
  resetMs: number;
}

/** Counts the requests of each client in a window that starts with its first one. */
export interface RequestCounter extends CounterOptions {
  /**
   * Counts one more. Never rejects: where the shared count can't be had, this process's own one stands in.
   * @param limit the client's own
   */
  add(client: string, limit?: number): Promise<Usage>;
  /** The count as far as this process knows it; undefined where it knows of none. */
  peek(client: string): Promise<Usage | undefined>;
}

/**
 * A counter that all processes share through Postgres. A write for each request would be dear, so a process counts in
 * memory and shares in steps: each further process may let a step through beyond the limit, and none where the limit is
 * 50 or less. What is over the limit is refused without Postgres.
 */
export function createCounter(db: Db, options: CounterOptions, log: Logger): RequestCounter {
  const { name, windowMs } = options;
  // Points are what the library itself would refuse by; here it only counts.
  const rules = { keyPrefix: name, points: options.limit, duration: windowMs / 1000 };
  const own = new RateLimiterMemory(rules);
  const unshared = new RateLimiterMemory(rules);
  const postgres = new RateLimiterPostgres({ ...rules, storeClient: db, tableName: 'rate_limit', tableCreated: true });
  const shared = new RLWrapperTimeouts({ limiter: postgres, timeoutMs: SHARE_TIMEOUT_MS });

  function toUsage({ consumedPoints, msBeforeNext }: RateLimiterRes, limit: number): Usage {
    // The clocks of two machines may differ, and to the library a window of 0 has no end.
    return { limit, used: consumedPoints, resetMs: Math.min(Math.max(msBeforeNext, 1), windowMs) };
  }

  async function share(client: string, count: number, limit: number): Promise<Usage | undefined> {
    await unshared.delete(client);
    try {
      const usage = toUsage(await shared.penalty(client, count), limit);
      await own.set(client, usage.used, usage.resetMs / 1000);
      return usage;
    } catch (error) {
      log.warn({ err: error, limit: name }, 'rate limit not shared with other processes');
      return undefined;
    }
  }

  return {
    ...options,
    async add(client, limit = options.limit) {
      const usage = toUsage(await own.penalty(client), limit);
      if (usage.used > limit) return usage;
      const { consumedPoints: count } = await unshared.penalty(client);
      const step = Math.ceil(limit * STEP);
      return (count >= step && (await share(client, count, limit))) || usage;
    },
    async peek(client) {
      const counted = await own.get(client);
      return counted ? toUsage(counted, options.limit) : undefined;
    },
  };
}
