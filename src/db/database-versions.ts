import type { DbClient } from './pool';

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
