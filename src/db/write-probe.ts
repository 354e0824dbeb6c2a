import { setTimeout as delay } from 'node:timers/promises';
import { type Db, createPool } from './pool';

/** Enough rows to exceed `work_mem`, so that Postgres writes them to its disk: half a megabyte. */
const SPILLED_ROWS = 20_000;
/** Longer than a write that succeeds should take, and shorter than the time limit of usual health checks. */
const TIMEOUT_MS = 2000;
/** Results are shared this long, because anybody may call a health check. */
const CACHE_MS = 1000;

/** `ok` if Postgres can write. */
export type DatabaseHealth = 'ok' | 'unavailable';

export interface WriteProbe {
  /** Never rejects, and takes at most 2 s. */
  check: () => Promise<DatabaseHealth>;
  end: () => Promise<void>;
}

/**
 * Checks whether Postgres can write, at most once a second, on a connection of its own: a full pool does not fail the
 * check, and the check takes no connection from requests.
 */
export function createWriteProbe(url: string, onError: (error: Error) => void): WriteProbe {
  const db = createPool(url, 1, onError);
  let result: Promise<DatabaseHealth> | undefined;
  return {
    check: () => {
      result ??= withTimeout(probeWrite(db)).finally(() => {
        setTimeout(() => (result = undefined), CACHE_MS).unref();
      });
      return result;
    },
    end: () => db.end(),
  };
}

/**
 * Checks whether Postgres can write. The lock fails on a standby and in a read-only database. The rows fail if the disk
 * is full, on which statements that reuse free space still succeed.
 * @throws the error of Postgres
 */
export async function probeWrite(db: Db): Promise<void> {
  // Both statements are one transaction, so that the setting does not outlast it.
  await db.query(
    `set local work_mem = '64kB';
     select (select count(*) from generate_series(1, ${SPILLED_ROWS})),
       array(select name from public.schema_migration limit 1 for no key update skip locked)`,
  );
}

/** A probe that takes too long continues in the background. */
function withTimeout(probed: Promise<void>): Promise<DatabaseHealth> {
  const health = probed.then(
    () => 'ok' as const,
    () => 'unavailable' as const,
  );
  return Promise.race([health, delay(TIMEOUT_MS, 'unavailable' as const, { ref: false })]);
}
