import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { isDatabaseUnavailable } from './database-errors';
import type { Db, DbClient } from './pool';

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
export async function assertSchemaIsCurrent(db: Db, folder = MIGRATIONS_FOLDER): Promise<void> {
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
export async function waitForCurrentSchema(db: Db, onRetry: (error: unknown) => void): Promise<void> {
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
export async function schemaVersion(db: DbClient): Promise<string> {
  return (await readApplied(db)).at(-1) ?? 'none';
}

/** The names of the migrations that are applied, in their order. */
export async function readApplied(db: Pick<pg.Client, 'query'>): Promise<string[]> {
  try {
    const { rows } = await db.query<{ name: string }>('select name from public.schema_migration order by name');
    return rows.map(({ name }) => name);
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === UNDEFINED_TABLE) return [];
    throw error;
  }
}
