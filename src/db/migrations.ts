import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { isDatabaseUnavailable } from './database-errors';
// Without it, node-pg would take settings of other programs from the environment, such as PGSSLMODE.
import './pool';

export const MIGRATIONS_FOLDER = path.join(__dirname, 'migrations');

const RETRY_MS = 1000;
const UNDEFINED_TABLE = '42P01';

export interface Migration {
  /** File name without `.sql`. */
  name: string;
  sql: string;
  /** False if the first line is `-- no-transaction`. */
  transactional: boolean;
}

/** The database's schema does not fit the migrations of this build. */
export class SchemaError extends Error {}

/** True for a migration that removes what earlier releases use. All others only add. */
export function isContraction(name: string): boolean {
  return /^\d+_contract_/.test(name);
}

/** The migrations of this build, in the order to apply them. */
export async function readMigrations(folder = MIGRATIONS_FOLDER): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  return Promise.all(
    files.map(async (file) => {
      const sql = await readFile(path.join(folder, file), 'utf8');
      return { name: path.basename(file, '.sql'), sql, transactional: !/^-- no-transaction\r?\n/.test(sql) };
    }),
  );
}

/** @throws SchemaError if the schema is older than this build, or lacks what it needs */
export async function assertSchemaIsCurrent(db: pg.Pool, folder = MIGRATIONS_FOLDER): Promise<void> {
  const applied = await readApplied(db);
  const known = (await readMigrations(folder)).map(({ name }) => name);
  // What a later release has added does not disturb this one, which may have to start beside it or after a roll-back.
  const removed = applied.filter((name) => !known.includes(name) && isContraction(name));
  if (removed.length > 0) {
    throw new SchemaError(
      `This build is older than the database schema: deploy the build that has ${removed.join(', ')}`,
    );
  }
  const missing = known.filter((name) => !applied.includes(name));
  if (missing.length > 0) {
    throw new SchemaError(
      `The database schema is older than this build: run the migrations (node dist/src/migrate.js). Missing: ${missing.join(', ')}`,
    );
  }
}

/**
 * Waits until Postgres answers, then checks the schema once. Resolves without a check if the pool is closed first.
 * @throws SchemaError
 */
export async function waitForCurrentSchema(db: pg.Pool, onRetry: (error: unknown) => void): Promise<void> {
  for (;;) {
    try {
      await assertSchemaIsCurrent(db);
      return;
    } catch (error) {
      if (db.ending) return;
      if (!isDatabaseUnavailable(error)) throw error;
      onRetry(error);
      await delay(RETRY_MS);
    }
  }
}

/** The newest migration that is applied. */
export async function schemaVersion(db: pg.Pool): Promise<string> {
  return (await readApplied(db)).at(-1) ?? 'none';
}

async function readApplied(db: Pick<pg.Client, 'query'>): Promise<string[]> {
  try {
    const { rows } = await db.query<{ name: string }>('select name from public.schema_migration order by name');
    return rows.map(({ name }) => name);
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === UNDEFINED_TABLE) return [];
    throw error;
  }
}

const CONNECT_TIMEOUT_MS = 10_000;
/** Other statements queue behind a migration that waits for a lock, so it gives up after a second and is retried. */
const LOCK_TIMEOUT_MS = 1000;
const APPLY_RETRY_MS = 2000;
const LOCK_NOT_AVAILABLE = '55P03';
/** An advisory lock: one process migrates. Asked for without waiting, because a waiting statement blocks `concurrently`. */
const LOCK = 'select pg_try_advisory_lock(4711, 11) as locked';

/** Overrides the timeouts of the server, database and role: a migration may take any time. */
const REMOVE_TIMEOUTS = `select set_config(name, '0', false) from pg_settings where name in
  ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')`;

const CREATE_TABLE =
  'create table if not exists public.schema_migration (name text primary key, applied_at timestamptz not null default now())';

const ignore = (): void => undefined;

/**
 * Applies the missing migrations in the order of their names, each in a transaction of its own. A file whose first line
 * is `-- no-transaction` runs outside of one and holds a single statement, such as `create index concurrently`. If such
 * a build fails, drop the invalid index that it leaves, then migrate again.
 * @param onBusy is called each time the migrations have to wait for another process, or for a transaction with a lock
 * @returns the names of the migrations that this call applied
 */
export async function migrate(
  databaseUrl: string,
  { folder = MIGRATIONS_FOLDER, onBusy = ignore }: { folder?: string; onBusy?: (error: Error) => void } = {},
): Promise<string[]> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'order-service-migrate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  });
  // A lost connection also rejects the query; without a listener it would end the process.
  client.on('error', ignore);
  try {
    await client.connect();
    await client.query(REMOVE_TIMEOUTS);
    while (!(await client.query<{ locked: boolean }>(LOCK)).rows[0]?.locked) {
      onBusy(new Error('another migration is already running'));
      await delay(APPLY_RETRY_MS);
    }
    await client.query(CREATE_TABLE);
    const applied = await readApplied(client);
    const missing = (await readMigrations(folder)).filter(({ name }) => !applied.includes(name));
    const [first] = missing;
    if (first && first.name < (applied.at(-1) ?? ''))
      throw new Error(`${first.name}.sql sorts before ${applied.at(-1)}, which is applied`);
    for (const migration of missing) while (!(await apply(client, migration, onBusy))) await delay(APPLY_RETRY_MS);
    return missing.map(({ name }) => name);
  } finally {
    // Ends an open transaction and releases the lock.
    await client.end();
  }
}

/** @returns false if the migration did not get a lock in time, and has to be tried again */
async function apply(client: pg.Client, { name, sql, transactional }: Migration, onBusy: (error: Error) => void) {
  try {
    if (transactional) await client.query(`begin; set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await client.query(sql);
    await client.query('insert into public.schema_migration (name) values ($1)', [name]);
    if (transactional) await client.query('commit');
    return true;
  } catch (cause) {
    const error = new Error(`${name}.sql: ${(cause as Error).message}`, { cause });
    if (!(cause instanceof pg.DatabaseError && cause.code === LOCK_NOT_AVAILABLE)) throw error;
    await client.query('rollback');
    onBusy(error);
    return false;
  }
}
