import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Db } from './pool';
import { inTransaction } from './pool';

const FOLDER = path.join(__dirname, 'migrations');
/** Any constant does; it keeps two migrating processes apart. */
const LOCK = 7_351_001;

/** Applies the migrations that the database lacks, each in a transaction, in the order of their names. */
export async function migrate(db: Db): Promise<string[]> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.sql')).sort();
  const applied: string[] = [];
  for (const file of files) {
    const sql = await readFile(path.join(FOLDER, file), 'utf8');
    await inTransaction(db, async (client) => {
      await client.query('select pg_advisory_xact_lock($1)', [LOCK]);
      await client.query(
        'create table if not exists schema_migration (name text primary key, applied_at timestamptz default now())',
      );
      const { rowCount } = await client.query('select from schema_migration where name = $1', [file]);
      if (rowCount) return;
      await client.query('set local statement_timeout = 0');
      await client.query(sql);
      await client.query('insert into schema_migration (name) values ($1)', [file]);
      applied.push(file);
    });
  }
  return applied;
}
