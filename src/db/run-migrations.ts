import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runner, type MigrationBuilder } from 'node-pg-migrate';
import pg from 'pg';
import { MIGRATIONS_FOLDER, readMigrations } from './migrations';
import './pool';

const CONNECT_TIMEOUT_MS = 10_000;
/** Other statements queue behind a migration that waits for a lock, so it gives up after a second and is retried. */
const LOCK_TIMEOUT_MS = 1000;
const RETRY_MS = 2000;
const LOCK_NOT_AVAILABLE = '55P03';

/** Overrides the timeouts of the server, database and role: a migration may take any time. */
const REMOVE_TIMEOUTS = `select set_config(name, '0', false) from pg_settings where name in
  ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')`;

/** node-pg-migrate logs whole files. The thrown error is enough. */
const ignore = (): void => undefined;
const SILENT = { info: ignore, warn: ignore, error: ignore };

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
  const begun = new Set<string>();
  try {
    await client.connect();
    await client.query(REMOVE_TIMEOUTS);
    while (!(await applyMigrations(client, folder, begun, onBusy))) await delay(RETRY_MS);
    return [...begun];
  } finally {
    // Ends an open transaction and releases the lock.
    await client.end();
  }
}

/**
 * @param begun gets the name of each migration that is tried
 * @returns false if they have to be tried again. Those before the last one in `begun` are applied
 */
async function applyMigrations(
  client: pg.Client,
  folder: string,
  begun: Set<string>,
  onBusy: (error: Error) => void,
): Promise<boolean> {
  let current: string | undefined;
  const units = (await readMigrations(folder)).map(({ name, sql, transactional }) => {
    const file = path.join(folder, `${name}.sql`);
    const up = (steps: MigrationBuilder) => {
      current = name;
      begun.add(name);
      if (transactional) steps.sql(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
      else steps.noTransaction();
      steps.sql(sql);
    };
    return { id: file, filePaths: [file], actions: { up, down: false as const } };
  });
  try {
    await runner({
      dbClient: client,
      dir: folder,
      direction: 'up',
      migrationsTable: 'schema_migration',
      singleTransaction: false,
      migrationLoaderStrategies: [{ extensions: ['.sql'], loader: () => Promise.resolve(units) }],
      logger: SILENT,
    });
    return true;
  } catch (error) {
    const { message } = error as Error;
    const explained = new Error(current === undefined ? message : `${current}.sql: ${message}`, { cause: error });
    if (!isBusy(error)) throw explained;
    await client.query('rollback');
    onBusy(explained);
    return false;
  }
}

/** True if a migration did not get a lock in time, or another process migrates: two can start at once. */
function isBusy(error: unknown): boolean {
  return error instanceof pg.DatabaseError
    ? error.code === LOCK_NOT_AVAILABLE
    : /^Another migration is already running/.test((error as Error).message);
}
