import type { DbClient } from './pool';

/** The time by the clock of Postgres, which all workers share. */
export async function readClock(db: DbClient): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>('select now()');
  if (!rows[0]) throw new Error('Postgres returned no time');
  return rows[0].now;
}

/**
 * The end of a list that is read again from the newest time that it has shown, so that no row is missed: every row whose
 * time is earlier is visible to the statements that follow. A transaction that is still open dates its rows after its
 * start; one that has not begun, after this call.
 * @param before the end that the caller asks for, if it does
 */
export async function readListEnd(db: DbClient, before?: string): Promise<string> {
  const { rows } = await db.query<{ end: Date }>(
    `select date_trunc('milliseconds', least(statement_timestamp(), min(xact_start))) as end from pg_stat_activity
     where backend_xid is not null and datname = current_database() and usename = current_user`,
  );
  if (!rows[0]) throw new Error('Postgres returned no time');
  const end = rows[0].end.toISOString();
  return before !== undefined && before < end ? before : end;
}
