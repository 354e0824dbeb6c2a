import type { Logger } from 'pino';
import { RLWrapperTimeouts, RateLimiterPostgres } from 'rate-limiter-flexible';
import type { Db } from '../db/pool';

/** The part of a limit that a process does not let through on its own: Postgres must know. */
const STEP = 1 / 50;
export interface CounterOptions {
  name: string;
  windowMs: number;
  /** For Postgres to answer a share. */
  shareTimeoutMs: number;
}

/** What a client has used of its limit. */
export interface Usage {
  limit: number;
  used: number;
  /** Until the window ends; more than 0. */
  resetMs: number;
}

/** Counts the requests of each client in a window that starts with its first one. */
export interface RequestCounter extends Pick<CounterOptions, 'name' | 'windowMs'> {
  /**
   * Counts one more, unless the limit is known to be reached. Never rejects: where the shared count can't be had, this
   * process's own one stands in.
   * @returns more used than the limit where the request is beyond it
   */
  add(client: string, limit: number): Promise<Usage>;
  /** The count as far as this process knows it; undefined where it knows of none. */
  peek(client: string, limit: number): Usage | undefined;
}

/** What this process knows of a client's window. */
interface Count {
  endsAt: number;
  /** By all processes as Postgres last told it, and by this one since. */
  used: number;
  /** Of these, what the next share tells Postgres. */
  unsent: number;
  /** Of these, what was let through before Postgres has confirmed it. */
  loose: number;
  /** The share under way: one at a time for each client. */
  sharing: Promise<Share | undefined> | undefined;
}

/** What Postgres answered: the total, of which the requests just shared are the last. */
interface Share {
  total: number;
  shared: number;
}

/**
 * A counter that all processes share through Postgres. A write for each request would be dear, so a process lets requests
 * through on its own as long as Postgres misses less than a step of them; the others wait until they are counted there,
 * all at once. So one process lets nothing through beyond the limit, however many requests come at once; of several each
 * may let less than a step through, which is nothing where the limit is 50 or less. What is known to be beyond the limit
 * is refused without Postgres. Where Postgres fails, those who wait are let through at once by the process's own count.
 */
export function createCounter(db: Db, { name, windowMs, shareTimeoutMs }: CounterOptions, log: Logger): RequestCounter {
  const postgres = new RateLimiterPostgres({
    keyPrefix: name,
    // Demanded, but of use only to the library's own way of refusing.
    points: 0,
    duration: windowMs / 1000,
    storeClient: db,
    tableName: 'rate_limit',
    tableCreated: true,
  });
  const postgresInTime = new RLWrapperTimeouts({ limiter: postgres, timeoutMs: shareTimeoutMs });
  const counts = new Map<string, Count>();
  const forgetEnded = (): void => counts.forEach(({ endsAt }, client) => endsAt <= Date.now() && counts.delete(client));
  setInterval(forgetEnded, windowMs).unref();

  function find(client: string): Count | undefined {
    const count = counts.get(client);
    return count && count.endsAt > Date.now() ? count : undefined;
  }

  function begin(client: string): Count {
    const count = { endsAt: Date.now() + windowMs, used: 0, unsent: 0, loose: 0, sharing: undefined };
    counts.set(client, count);
    return count;
  }

  function toUsage({ endsAt }: Count, used: number, limit: number): Usage {
    return { limit, used, resetMs: Math.max(endsAt - Date.now(), 1) };
  }

  async function share(client: string, count: Count): Promise<Share | undefined> {
    const { unsent: shared, loose } = count;
    count.unsent = 0;
    try {
      const { consumedPoints: total, msBeforeNext } = await postgresInTime.penalty(client, shared);
      count.used = total + count.unsent;
      // The clocks of two machines may differ.
      count.endsAt = Date.now() + Math.min(msBeforeNext, windowMs);
      return { total, shared };
    } catch (error) {
      log.warn({ err: error, limit: name }, 'rate limit not shared with other processes');
      return undefined;
    } finally {
      count.loose -= loose;
      count.sharing = undefined;
    }
  }

  return {
    name,
    windowMs,
    async add(client, limit) {
      const count = find(client) ?? begin(client);
      if (count.used >= limit) return toUsage(count, count.used + 1, limit);
      const used = ++count.used;
      const place = ++count.unsent;
      if (count.loose + 1 < Math.ceil(limit * STEP)) {
        count.loose++;
        return toUsage(count, used, limit);
      }
      // Who comes during a share waits for it, and shares with all others who did.
      const isAway = count.sharing && !(await count.sharing);
      const answer = isAway ? undefined : await (count.sharing ??= share(client, count));
      return toUsage(count, answer ? answer.total - answer.shared + place : used, limit);
    },
    peek(client, limit) {
      const count = find(client);
      return count && toUsage(count, count.used, limit);
    },
  };
}
