import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';

export const MIGRATIONS_FOLDER = path.join(__dirname, 'migrations');

export interface MigrationFile {
  /** File name without `.sql`. */
  name: string;
  sql: string;
  /** SHA-256 of the SQL, in hex. */
  digest: string;
  /** False if the first line is `-- no-transaction`. */
  transactional: boolean;
}

/** True for a migration that removes what earlier releases use. All others only add. */
export function isContraction(name: string): boolean {
  return /^\d+_contract_/.test(name);
}

/** The migrations of this build, in the order to apply them. */
export async function readMigrationFiles(folder = MIGRATIONS_FOLDER): Promise<MigrationFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(path.join(folder, name), 'utf8');
      return {
        name: path.basename(name, '.sql'),
        sql,
        digest: createHash('sha256').update(sql).digest('hex'),
        transactional: !/^-- no-transaction\r?\n/.test(sql),
      };
    }),
  );
}
