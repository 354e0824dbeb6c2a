import type { DbClient } from './pool';

/** Writes and commits a row with the value that it has. @throws if Postgres cannot write, as with a full disk */
export async function probeWrite(db: DbClient): Promise<{ version: string }> {
  await db.query('update checkout_secret set only_one = true');
  const { rows } = await db.query<{ version: string }>("select current_setting('server_version') as version");
  return { version: rows[0]?.version ?? '' };
}

/** The newest migration that is applied. */
export async function schemaVersion(db: DbClient): Promise<string> {
  const { rows } = await db.query<{ name: string }>(
    'select name from public.schema_migration order by name desc limit 1',
  );
  return rows[0]?.name ?? 'none';
}
