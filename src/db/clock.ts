import type { DbClient } from './pool';

/** The time by the clock of Postgres, which all workers share. */
export async function readClock(db: DbClient): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>('select now()');
  if (!rows[0]) throw new Error('Postgres returned no time');
  return rows[0].now;
}

/** SQL: a moment `ms` milliseconds from now. */
export const inMs = (ms: string): string => `now() + ${ms} * interval '1 ms'`;
