import type { DbClient } from './pool';

/** Deletes the counts of windows that ended at least `graceMs` ago: the clocks of two API machines may differ. */
export async function deleteEndedCounts(db: DbClient, graceMs: number): Promise<void> {
  await db.query('delete from rate_limit where expire < $1', [Date.now() - graceMs]);
}
