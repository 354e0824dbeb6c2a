import type { Db } from '../db/pool';
import { type Caller, findCallers } from '../db/sellers';

const MAX_QUERIES = 4;
/** How long the owner of a key is cached. A change of the key or its account takes effect within this time. */
const CACHE_MS = 1000;

interface Lookup {
  key: string;
  resolve: (caller: Caller | undefined) => void;
  reject: (error: unknown) => void;
}

/**
 * Creates a function that finds the owner of a key. It caches owners for a second: most requests of a shop cost no query.
 * While the maximum number of queries runs, further keys wait and share the next query, so that a flood of invalid keys
 * neither occupies the connections nor delays valid keys.
 */
export function createCallerLookup(db: Db): (key: string) => Promise<Caller | undefined> {
  let running = 0;
  let waiting: Lookup[] = [];
  let cache = new Map<string, Caller>();
  setInterval(() => (cache = new Map()), CACHE_MS).unref();

  async function run(): Promise<void> {
    running++;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      // A slow query may have read a key before it was revoked: what it found expires with the others.
      const cacheAtStart = cache;
      try {
        const callers = await findCallers(
          db,
          batch.map(({ key }) => key),
        );
        batch.forEach(({ key, resolve }, index) => {
          const caller = callers[index];
          if (caller) cacheAtStart.set(key, caller);
          resolve(caller);
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running--;
  }

  return async (key) =>
    cache.get(key) ??
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      if (running < MAX_QUERIES) void run();
    });
}
