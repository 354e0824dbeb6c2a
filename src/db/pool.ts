import pg from 'pg';
import type { Logger } from 'pino';
import { setTimeout as delay } from 'node:timers/promises';

// They are for other programs. node-pg would take from them what DATABASE_URL leaves out, such as PGSSLMODE and PGOPTIONS.
for (const name of Object.keys(process.env)) if (/^PG[A-Z]+$/.test(name)) Reflect.deleteProperty(process.env, name);

// Amounts, ids and positions are far below 2^53. The driver's default is text.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

export type Db = pg.Pool;
export type DbClient = pg.Pool | pg.PoolClient;

/** In ms. They are short, so that callers get an error instead of a long wait. */
export const POOL_TIMEOUTS = {
  connectionTimeoutMillis: 3000,
  statement_timeout: 5000,
  lock_timeout: 4000,
  idle_in_transaction_session_timeout: 10_000,
  query_timeout: 7000,
};

/** Creates a connection pool. */
export function createPool(url: string, max: number, onError: (error: Error) => void): Db {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    application_name: 'order-service',
    ...POOL_TIMEOUTS,
    keepAlive: true,
  });
  // Without a listener, an idle connection that the server drops would end the process.
  pool.on('error', onError);
  // The pool does not listen to a connection that is checked out, for example in a transaction.
  pool.on('connect', (client) => client.on('error', onError));
  return pool;
}

/**
 * SQLSTATEs of a statement that Postgres refused although the connection works: a violated constraint, a lock timeout.
 */
const REFUSED = /^(23|55P03)/;

/**
 * Runs a statement that callers can make fail. Unlike `db.query`, which closes the connection after every error, it
 * keeps the connection if Postgres refused the statement.
 */
export async function runStatement<T extends pg.QueryResultRow>(
  db: Db,
  statement: pg.QueryConfig,
): Promise<pg.QueryResult<T>> {
  const client = await db.connect();
  try {
    const result = await client.query<T>(statement);
    client.release();
    return result;
  } catch (error) {
    client.release(!(error instanceof pg.DatabaseError && REFUSED.test(error.code ?? '')));
    throw error;
  }
}

/** Runs `work` in a transaction. If the rollback fails, the connection is closed instead of returned to the pool. */
export async function inTransaction<T>(db: Db, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await db.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch((rollbackError: unknown) => {
      broken = rollbackError as Error;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

/** Creates the connections of a process, and its health check. Connects when they are first used. */
export function openDatabase(
  { databaseUrl, databasePoolSize }: { databaseUrl: string; databasePoolSize: number },
  log: Logger,
) {
  const onError = (error: Error) => log.warn({ err: error }, 'database connection failed');
  const db = createPool(databaseUrl, databasePoolSize, onError);
  const insertDb = createPool(databaseUrl, Math.ceil(databasePoolSize / 4), onError);
  const health = createHealthCheck(databaseUrl, onError);
  return {
    db,
    /** A smaller pool for inserts of new orders. */
    insertDb,
    checkDatabase: health.check,
    end: async (): Promise<void> => {
      await Promise.all([db.end(), insertDb.end(), health.end()]);
    },
  };
}

/** Longer than a write that succeeds should take, and shorter than the time limit of usual health checks. */
const TIMEOUT_MS = 2000;
/** Results are shared this long, because anybody may call a health check. */
const CACHE_MS = 1000;

/** `ok` if Postgres accepts writes. */
export type DatabaseHealth = 'ok' | 'unavailable';

export interface HealthCheck {
  /** Never rejects, and takes at most 2 s. */
  check: () => Promise<DatabaseHealth>;
  end: () => Promise<void>;
}

/**
 * Checks whether Postgres accepts writes, at most once a second, on a connection of its own: a full pool does not fail
 * the check, and the check takes no connection from requests.
 */
export function createHealthCheck(url: string, onError: (error: Error) => void): HealthCheck {
  const db = createPool(url, 1, onError);
  let result: Promise<DatabaseHealth> | undefined;
  return {
    check: () => {
      result ??= withTimeout(assertWritable(db)).finally(() => {
        setTimeout(() => (result = undefined), CACHE_MS).unref();
      });
      return result;
    },
    end: () => db.end(),
  };
}

/** Locks a row, which fails on a standby and in a read-only database. @throws the error of Postgres */
export async function assertWritable(db: Db): Promise<void> {
  await db.query('select from public.schema_migration limit 1 for no key update skip locked');
}

/** A check that takes too long continues in the background. */
function withTimeout(checked: Promise<void>): Promise<DatabaseHealth> {
  const health = checked.then(
    () => 'ok' as const,
    () => 'unavailable' as const,
  );
  return Promise.race([health, delay(TIMEOUT_MS, 'unavailable' as const, { ref: false })]);
}

export async function serverVersion(db: DbClient): Promise<string> {
  const { rows } = await db.query<{ version: string }>("select current_setting('server_version') as version");
  return rows[0]?.version ?? '';
}
