import type { Logger } from 'pino';
import { RLWrapperTimeouts, RateLimiterPostgres } from 'rate-limiter-flexible';
import type { Db } from '../db/pool';
import { trackFailures } from '../telemetry/metrics';

/** The part of a limit that one process may let through before Postgres has counted it. */
const UNCONFIRMED_PART = 1 / 50;

interface CounterOptions {
  name: string;
  windowMs: number;
  /** Time limit for one update in Postgres. */
  syncTimeoutMs: number;
}

/** A client's use of its limit. */
export interface Usage {
  limit: number;
  /** More than `limit` if the request is over the limit. */
  used: number;
  /** Time until the window ends; at least 1. */
  resetMs: number;
}

/** Counts each client's requests in a window that starts with the first request. */
export interface RequestCounter extends Pick<CounterOptions, 'name' | 'windowMs'> {
  /**
   * Counts a request, unless the limit is already known to be reached. Never rejects: if Postgres fails, this process's
   * own count applies.
   * @param cost the number of requests that it counts as; default: 1
   */
  increment(client: string, limit: number, cost?: number): Promise<Usage>;
}

interface Window {
  endsAt: number;
  /** The total at the last sync, plus this process's requests since then. */
  used: number;
  /** Requests that the next sync adds in Postgres. */
  unsynced: number;
  /** Requests let through before Postgres counted them. */
  unconfirmed: number;
  /** The running sync; each client has at most one. */
  sync: Promise<SyncResult | undefined> | undefined;
}

interface SyncResult {
  /** The total of all processes, including `added`. */
  total: number;
  /** The requests that this sync added. */
  added: number;
}

/**
 * Creates a counter that all processes share through Postgres. It counts several requests per update, because one
 * update per request (`consume` of rate-limiter-flexible) measured a tenth of the throughput and starved the connection
 * pool.
 *
 * A process lets requests through immediately while Postgres lacks less than 1/50 of the limit. Other requests wait
 * until one update has counted them together. So one process never exceeds the limit, and each further process exceeds
 * it by less than 1/50, which is 0 if the limit is 50 or less. The counter refuses a request without Postgres if it
 * knows that the limit is reached. If Postgres fails, all waiting requests continue immediately with this process's own
 * count.
 */
export function createCounter(db: Db, { name, windowMs, syncTimeoutMs }: CounterOptions, log: Logger): RequestCounter {
  const postgres = new RateLimiterPostgres({
    keyPrefix: name,
    // Required, but unused by `penalty`.
    points: 0,
    duration: windowMs / 1000,
    storeClient: db,
    tableName: 'rate_limit',
    tableCreated: true,
    // One counter deletes the ended windows of all, every five minutes, an hour after their end.
    clearExpiredByTimeout: name === 'address',
  });
  const limiter = new RLWrapperTimeouts({ limiter: postgres, timeoutMs: syncTimeoutMs });
  const windows = new Map<string, Window>();
  let isUnshared = false;
  const recordFailure = trackFailures(`rate_limit_${name}`, () => isUnshared);
  const deleteEnded = (): void =>
    windows.forEach(({ endsAt }, client) => endsAt <= Date.now() && windows.delete(client));
  setInterval(deleteEnded, windowMs).unref();

  function find(client: string): Window | undefined {
    const window = windows.get(client);
    return window && window.endsAt > Date.now() ? window : undefined;
  }

  function open(client: string): Window {
    const window = { endsAt: Date.now() + windowMs, used: 0, unsynced: 0, unconfirmed: 0, sync: undefined };
    windows.set(client, window);
    return window;
  }

  function toUsage({ endsAt }: Window, used: number, limit: number): Usage {
    return { limit, used, resetMs: Math.max(endsAt - Date.now(), 1) };
  }

  async function sync(client: string, window: Window): Promise<SyncResult | undefined> {
    const { unsynced: added, unconfirmed } = window;
    window.unsynced = 0;
    try {
      const { consumedPoints: total, msBeforeNext } = await limiter.penalty(client, added);
      window.used = total + window.unsynced;
      // The clocks of two machines may differ.
      window.endsAt = Date.now() + Math.min(msBeforeNext, windowMs);
      isUnshared = false;
      return { total, added };
    } catch (error) {
      isUnshared = true;
      recordFailure();
      log.warn({ err: error, limit: name }, 'rate limit not shared with other processes');
      return undefined;
    } finally {
      window.unconfirmed -= unconfirmed;
      window.sync = undefined;
    }
  }

  return {
    name,
    windowMs,
    async increment(client, limit, cost = 1) {
      const window = find(client) ?? open(client);
      if (window.used >= limit) return toUsage(window, window.used + cost, limit);
      const used = (window.used += cost);
      const position = (window.unsynced += cost);
      if (window.unconfirmed + cost < Math.ceil(limit * UNCONFIRMED_PART)) {
        window.unconfirmed += cost;
        return toUsage(window, used, limit);
      }
      // A request that arrives during a sync joins the next one, unless this one fails.
      const hasFailed = window.sync && !(await window.sync);
      const result = hasFailed ? undefined : await (window.sync ??= sync(client, window));
      return toUsage(window, result ? result.total - result.added + position : used, limit);
    },
  };
}
