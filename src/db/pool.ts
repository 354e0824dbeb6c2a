import pg from 'pg';

export type Db = pg.Pool;
export type DbClient = pg.Pool | pg.PoolClient;

/** Short timeouts throughout: a caller would rather hear of trouble than wait behind it. Times in ms. */
export function createPool(url: string, max: number, onError: (error: Error) => void): Db {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    application_name: 'order-service',
    connectionTimeoutMillis: 3000,
    statement_timeout: 5000,
    lock_timeout: 4000,
    idle_in_transaction_session_timeout: 10_000,
    query_timeout: 7000,
    keepAlive: true,
  });
  // Without a listener an idle connection that the server drops would end the process.
  pool.on('error', onError);
  // The pool stops listening to a connection while it is checked out, in a transaction for one.
  pool.on('connect', (client) => client.on('error', onError));
  return pool;
}

/** Runs `work` in a transaction; a connection in an unknown state is not given back to the pool. */
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
