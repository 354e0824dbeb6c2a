import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runner, type MigrationBuilder } from 'node-pg-migrate';
import pg from 'pg';
import { MIGRATIONS_FOLDER, readMigrationFiles, type MigrationFile } from './migration-files';
import { findPendingMigrations } from './schema-check';

const LOCK = 7_351_001;
const LOCK_POLL_MS = 200;
const CONNECT_TIMEOUT_MS = 10_000;
/** Other statements queue behind a migration that waits for a lock, so it gives up after a second and is retried. */
const LOCK_TIMEOUT_MS = 1000;
const LOCK_RETRY_MS = 2000;
const LOCK_NOT_AVAILABLE = '55P03';

/** node-pg-migrate's own table lacks the digest. It inserts name and time; the default adds the digest. */
const CREATE_TABLE = `create table if not exists public.schema_migration (
  id serial primary key,
  name varchar(255) not null unique,
  run_on timestamptz not null,
  digest text not null default current_setting('order_service.migration_digest')
)`;

/** Overrides the timeouts of the server, database and role: a migration may take any time. */
const REMOVE_TIMEOUTS = `select set_config(name, '0', false) from pg_settings where name in
  ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')`;

/** node-pg-migrate logs whole files. The thrown error is enough. */
const ignore = (): void => undefined;
const SILENT = { info: ignore, warn: ignore, error: ignore };

interface MigrateOptions {
  /** Default: the migrations of this build. */
  folder?: string;
  /** Called each time a migration has to be tried again, because a long transaction holds a lock that it needs. */
  onBusy?: (error: Error) => void;
}

/**
 * Applies the missing migrations in the order of their names, each in a transaction of its own. A file whose first line
 * is `-- no-transaction` runs outside of one and holds a single statement, such as `create index concurrently`. If such
 * a build fails, drop the invalid index that it leaves, then migrate again.
 *
 * @returns the names of the migrations that this call applied
 * @throws SchemaError if the database has a contraction that this build lacks, or a migration with other content
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
    await acquireLock(client);
    await client.query(CREATE_TABLE);
    const files = await readMigrationFiles(folder);
    const pending = await findPendingMigrations(client, files);
    while (!(await applyMigrations(client, folder, files, onBusy))) await delay(LOCK_RETRY_MS);
    return pending.map(({ name }) => name);
  } finally {
    // Ends an open transaction and releases the lock.
    await client.end();
  }
}

/**
 * Polls, because a blocked `pg_advisory_lock` holds a snapshot that `create index concurrently` waits for: a deadlock.
 */
async function acquireLock(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [LOCK]);
    if (rows[0]?.locked) return;
    await delay(LOCK_POLL_MS);
  }
}

/** @returns false if a migration could not get a lock in time. Those before it are applied */
async function applyMigrations(
  client: pg.Client,
  folder: string,
  files: MigrationFile[],
  onBusy: (error: Error) => void,
): Promise<boolean> {
  let current: MigrationFile | undefined;
  const units = files.map((file) => {
    const filePath = path.join(folder, `${file.name}.sql`);
    const up = (steps: MigrationBuilder) => {
      current = file;
      if (file.transactional) steps.sql(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
      else steps.noTransaction();
      steps.sql(`set order_service.migration_digest = '${file.digest}'`);
      steps.sql(file.sql);
    };
    return { id: filePath, filePaths: [filePath], actions: { up, down: false as const } };
  });
  try {
    await runner({
      dbClient: client,
      dir: folder,
      direction: 'up',
      migrationsTable: 'schema_migration',
      singleTransaction: false,
      // node-pg-migrate's own lock either blocks or fails immediately. `acquireLock` polls.
      noLock: true,
      migrationLoaderStrategies: [{ extensions: ['.sql'], loader: () => Promise.resolve(units) }],
      logger: SILENT,
    });
    return true;
  } catch (error) {
    if (!current || !(error instanceof pg.DatabaseError)) throw error;
    const line = error.position ? `:${current.sql.slice(0, Number(error.position)).split('\n').length}` : '';
    const explained = new Error(`${current.name}.sql${line}: ${error.message}`, { cause: error });
    if (error.code !== LOCK_NOT_AVAILABLE) throw explained;
    await client.query('rollback');
    onBusy(explained);
    return false;
  }
}
