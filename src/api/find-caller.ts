import { batchLookups } from '../concurrency/batch-lookups';
import type { Db } from '../db/pool';
import { type Caller, findCallers } from '../db/sellers';

/** How long the owner of a key is cached. A change of the key or its account takes effect within this time. */
const CACHE_MS = 1000;

/**
 * Creates a function that finds the owner of a key. It caches owners for a second: most requests of a shop cost no
 * query.
 */
export function createCallerLookup(db: Db): (key: string) => Promise<Caller | undefined> {
  let cache = new Map<string, Caller>();
  setInterval(() => (cache = new Map()), CACHE_MS).unref();

  const lookUp = batchLookups(async (keys) => {
    // A slow query may have read a key before it was revoked: what it found expires with the others.
    const cacheAtStart = cache;
    const callers = await findCallers(db, keys);
    keys.forEach((key, index) => {
      const caller = callers[index];
      if (caller) cacheAtStart.set(key, caller);
    });
    return callers;
  });
  return async (key) => cache.get(key) ?? lookUp(key);
}
