import type pg from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { isDatabaseUnavailable, isNotMigrated } from './database-errors';
import { type MigrationFile, MIGRATIONS_FOLDER, isContraction, readMigrationFiles } from './migration-files';
import type { Db, DbClient } from './pool';

const RETRY_MS = 1000;

/** The database's schema does not fit the migrations of this build. */
export class SchemaError extends Error {}

/**
 * @throws SchemaError if the schema is older than this build, lacks what it needs, or was made by files that have
 * changed since
 */
export async function assertSchemaIsCurrent(db: Db, folder = MIGRATIONS_FOLDER): Promise<void> {
  const pending = await findPendingMigrations(db, await readMigrationFiles(folder));
  if (pending.length === 0) return;
  const names = pending.map(({ name }) => name).join(', ');
  throw new SchemaError(
    `The database schema is older than this build: run the migrations (node dist/src/migrate.js). Missing: ${names}`,
  );
}

/**
 * Waits until Postgres answers, then checks the schema once. Resolves without a check if the pool is closed first.
 * @throws SchemaError
 */
export async function waitForCurrentSchema(db: Db, onRetry: (error: unknown) => void): Promise<void> {
  for (;;) {
    try {
      await assertSchemaIsCurrent(db);
      return;
    } catch (error) {
      if (db.ending) return;
      if (!isDatabaseUnavailable(error)) throw error;
      onRetry(error);
      await delay(RETRY_MS, undefined, { ref: false });
    }
  }
}

/** @throws SchemaError if the database has a contraction that this build lacks, or a migration with other content */
export async function findPendingMigrations(
  db: pg.Pool | pg.Client,
  files: readonly MigrationFile[],
): Promise<MigrationFile[]> {
  const applied = await readAppliedMigrations(db);
  const known = new Map(files.map(({ name, digest }) => [name, digest]));
  // What a later release has added does not disturb this one, which may have to start beside it or after a roll-back.
  const removed = [...applied.keys()].filter((name) => !known.has(name) && isContraction(name));
  if (removed.length > 0) {
    throw new SchemaError(
      `This build is older than the database schema: deploy the build that has ${removed.join(', ')}`,
    );
  }
  for (const [name, digest] of applied) {
    if (!known.has(name) || known.get(name) === digest) continue;
    throw new SchemaError(
      `The migration ${name}.sql has changed since it was applied: restore the file and add a new migration instead`,
    );
  }
  return files.filter(({ name }) => !applied.has(name));
}

async function readAppliedMigrations(db: pg.Pool | pg.Client): Promise<Map<string, string>> {
  try {
    const { rows } = await db.query<{ name: string; digest: string }>(
      'select name, digest from public.schema_migration order by name',
    );
    return new Map(rows.map(({ name, digest }) => [name, digest]));
  } catch (error) {
    if (isNotMigrated(error)) return new Map();
    throw error;
  }
}

export async function serverVersion(db: DbClient): Promise<string> {
  const { rows } = await db.query<{ version: string }>("select current_setting('server_version') as version");
  return rows[0]?.version ?? '';
}

/** The newest migration that is applied. */
export async function schemaVersion(db: DbClient): Promise<string> {
  const { rows } = await db.query<{ name: string }>(
    'select name from public.schema_migration order by name desc limit 1',
  );
  return rows[0]?.name ?? 'none';
}
