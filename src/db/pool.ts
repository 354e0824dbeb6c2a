import pg from 'pg';

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
  let broken: Error | undefined;
  try {
    return await client.query<T>(statement);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && REFUSED.test(error.code ?? ''))) broken = error as Error;
    throw error;
  } finally {
    client.release(broken);
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
