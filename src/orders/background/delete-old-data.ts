import { setTimeout as delay } from 'node:timers/promises';
import { type OldData, deleteOldData, isBusy, overdueSeconds } from '../../db/old-data';
import type { Db } from '../../db/pool';
import { deletedRows, overdueDeletion } from '../../telemetry/metrics';

/** Rows of one statement, which takes some ten milliseconds. */
const BATCH = 200;

/**
 * Creates a function that deletes old data of one kind in small batches, with a pause after each that is as long as the
 * batch took. It ends early if the database is busy, or if `stop` aborts: its next call continues.
 */
export function createDeletion(db: Db, kind: OldData): (stop: AbortSignal) => Promise<void> {
  const labels = { data: kind.name };
  deletedRows.inc(labels, 0);
  return async (signal) => {
    for (let deleted = BATCH; deleted === BATCH && !signal.aborted && !(await isBusy(db));) {
      const startedAt = performance.now();
      deleted = await deleteOldData(db, kind, BATCH);
      deletedRows.inc(labels, deleted);
      await delay(performance.now() - startedAt, undefined, { signal }).catch(() => undefined);
    }
    overdueDeletion.set(labels, await overdueSeconds(db, kind));
  };
}
