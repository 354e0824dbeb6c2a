import { setTimeout as delay } from 'node:timers/promises';
import { FROM_THE_START, type OldData, deleteOldData, isBusy, overdueSeconds } from '../../db/old-data';
import type { Db } from '../../db/pool';
import { deletedRows, overdueDeletion } from '../../telemetry/metrics';

/** Rows of one statement, which takes some ten milliseconds. */
const BATCH = 200;
/** How often rows are looked at again that had to stay, such as an order whose payment was not settled. */
const FROM_THE_START_EVERY_MS = 3_600_000;

/**
 * Creates a function that deletes old data of one kind in small batches, with a pause after each that is as long as the
 * batch took. It ends early if the database is busy, or if `stop` aborts: its next call continues.
 */
export function createDeletion(db: Db, kind: OldData): (stop: AbortSignal) => Promise<void> {
  const labels = { data: kind.name };
  deletedRows.inc(labels, 0);
  let from = FROM_THE_START;
  let begunAt = performance.now();
  return async (signal) => {
    if (performance.now() - begunAt > FROM_THE_START_EVERY_MS) {
      from = FROM_THE_START;
      begunAt = performance.now();
    }
    for (let deleted = BATCH; deleted === BATCH && !signal.aborted && !(await isBusy(db));) {
      const startedAt = performance.now();
      ({ deleted, next: from } = await deleteOldData(db, kind, BATCH, from));
      deletedRows.inc(labels, deleted);
      await delay(performance.now() - startedAt, undefined, { signal }).catch(() => undefined);
    }
    overdueDeletion.set(labels, await overdueSeconds(db, kind, from));
  };
}
