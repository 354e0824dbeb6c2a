import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { type Db, POOL_TIMEOUTS, createPool } from '../../src/db/pool';
import { type Scope, useResource } from './use-resource';

// On a loaded machine, each may take longer than callers of the service would wait. Locks are what some tests are about.
Object.assign(POOL_TIMEOUTS, { connectionTimeoutMillis: 60_000, statement_timeout: 60_000, query_timeout: 60_000 });

export interface TestDatabase {
  url: string;
  db: Db;
  drop(): Promise<void>;
}

/** Creates a database on the test run's Postgres: a migrated one, or an empty one. */
export async function createDatabase({ isEmpty = false } = {}): Promise<TestDatabase> {
  const migrated = new URL(process.env.TEST_DATABASE_URL!);
  const url = new URL(migrated);
  url.pathname = `/test_${randomBytes(6).toString('hex')}`;
  const template = isEmpty ? 'template0' : migrated.pathname.slice(1);
  await administer(`create database ${url.pathname.slice(1)} template ${template}`);
  const db = openDatabase(url.href);
  return {
    url: url.href,
    db,
    async drop() {
      await db.end();
      await administer(`drop database ${url.pathname.slice(1)} with (force)`);
    },
  };
}

export function openDatabase(url: string): Db {
  return createPool(url, 10, () => undefined);
}

/** The URL of a database for a process whose statements Postgres does not end while they wait for a lock. */
export function patientUrl(url: string): string {
  return `${url}?lock_timeout=60000&statement_timeout=60000`;
}

/** A migrated database for the tests of a file, or a new one for each test. */
export function useDatabase(scope?: Scope): TestDatabase {
  return useResource(createDatabase, (database) => database.drop(), scope);
}

/** Returns how many statements, or of those that contain `part`, wait for a lock in the database. */
export async function statementsWaiting(db: Db, part = ''): Promise<number> {
  const { rowCount } = await db.query(
    `select from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and position($1 in query) > 0`,
    [part],
  );
  return rowCount ?? 0;
}

export interface HeldTransaction {
  /** Runs a further statement in the transaction. */
  query: (sql: string, values?: unknown[]) => Promise<unknown>;
  commit: () => Promise<void>;
  rollback: () => Promise<void>;
}

/** Runs a statement in a transaction that keeps its locks until `commit` or `rollback`. */
export async function holdTransaction(db: Db, sql: string, values: unknown[] = []): Promise<HeldTransaction> {
  const client = await db.connect();
  const end = async (statement: string): Promise<void> => {
    await client.query(statement);
    client.release();
  };
  await client.query('begin');
  // The pool's limit is for callers of the service, not for a test that holds the locks on purpose.
  await client.query('set local idle_in_transaction_session_timeout = 0');
  await client.query(sql, values);
  return {
    query: (further, furtherValues = []) => client.query(further, furtherValues),
    commit: () => end('commit'),
    rollback: () => end('rollback'),
  };
}

/** Makes a change that `alter database` knows, and closes the database's connections. */
export async function alterDatabase(url: string, change: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await administer(`alter database ${name} ${change}`);
  await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
}

async function administer(sql: string): Promise<void> {
  const url = new URL(process.env.TEST_DATABASE_URL!);
  url.pathname = '/postgres';
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    // Postgres refuses to copy a template that another session is copying.
    await client.query('select pg_advisory_lock(1)');
    await client.query(sql);
  } finally {
    await client.end();
  }
}
