import { readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MIGRATIONS_FOLDER } from '../../../src/db/migrations';
import { type TestDatabase, createDatabase } from '../../support/database';
import { useResource } from '../../support/use-resource';

export const PRODUCT_MIGRATIONS = readdirSync(MIGRATIONS_FOLDER)
  .sort()
  .map((file) => path.basename(file, '.sql'));

/** A database without tables for each test. */
export function useEmptyDatabase(): TestDatabase {
  const start = async (): Promise<TestDatabase> => {
    const database = await createDatabase();
    await database.db.query('drop schema public cascade; create schema public');
    return database;
  };
  return useResource(start, (database) => database.drop(), 'test');
}

/** An empty folder for the migrations of each test. */
export function useMigrations() {
  const start = async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'order-service-migrations-'));
    return {
      folder,
      /** Writes migrations by name. */
      write(files: Record<string, string>): void {
        for (const [name, sql] of Object.entries(files)) writeFileSync(path.join(folder, `${name}.sql`), sql);
      },
    };
  };
  return useResource(start, ({ folder }) => rm(folder, { recursive: true }), 'test');
}
