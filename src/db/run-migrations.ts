import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type Migration, MIGRATIONS_FOLDER, readApplied, readMigrations } from './migrations';
import './pool';

const CONNECT_TIMEOUT_MS = 10_000;
/** Other statements queue behind a migration that waits for a lock, so it gives up after a second and is retried. */
const LOCK_TIMEOUT_MS = 1000;
const RETRY_MS = 2000;
const LOCK_NOT_AVAILABLE = '55P03';
/** An advisory lock: one process migrates. Asked for without waiting, because a waiting statement blocks `concurrently`. */
const LOCK = 'select pg_try_advisory_lock(4711, 11) as locked';

/** Overrides the timeouts of the server, database and role: a migration may take any time. */
const REMOVE_TIMEOUTS = `select set_config(name, '0', false) from pg_settings where name in
  ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')`;

const CREATE_TABLE =
  'create table if not exists public.schema_migration (name text primary key, applied_at timestamptz not null default now())';

const ignore = (): void => undefined;

interface MigrateOptions {
  /** Default: the migrations of this build. */
  folder?: string;
  /** Called each time the migrations have to wait for another process, or for a long transaction that holds a lock. */
  onBusy?: (error: Error) => void;
}

/**
 * Applies the missing migrations in the order of their names, each in a transaction of its own. A file whose first line
 * is `-- no-transaction` runs outside of one and holds a single statement, such as `create index concurrently`. If such
 * a build fails, drop the invalid index that it leaves, then migrate again.
 *
 * @returns the names of the migrations that this call applied
 */
export async function migrate(
  databaseUrl: string,
  { folder = MIGRATIONS_FOLDER, onBusy = ignore }: MigrateOptions = {},
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
      await delay(RETRY_MS);
    }
    await client.query(CREATE_TABLE);
    const applied = await readApplied(client);
    const missing = (await readMigrations(folder)).filter(({ name }) => !applied.includes(name));
    const [first] = missing;
    if (first && first.name < (applied.at(-1) ?? ''))
      throw new Error(`${first.name}.sql sorts before ${applied.at(-1)}, which is applied`);
    for (const migration of missing) while (!(await apply(client, migration, onBusy))) await delay(RETRY_MS);
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
