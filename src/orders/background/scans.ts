import { purgeApplicantData } from '../../db/applications';
import { readClock } from '../../db/clock';
import { deleteAbandonedBreakers } from '../../db/endpoint-breaker';
import { pruneIdempotencyKeys } from '../../db/idempotency-keys';
import {
  makeDue,
  makeDueIfOpen,
  makeDueIfSettled,
  makeDueIfStatusDiffers,
  makeDueIfWebhookOverdue,
} from '../../db/order-work';
import type { Db } from '../../db/pool';
import { deleteExpiredSecrets } from '../../db/secrets';
import { stuckRuns } from '../../telemetry/metrics';
import type { ListedRun } from '../../temporal/list-runs';
import type { OrderWorkflows } from '../../temporal/order-workflows';

/** Rows that one statement changes. */
const BATCH = 500;
/** The open runs that one scan looks at. The next one continues: a million take most of a day. */
const OPEN_RUNS = 1000;
/** How far back a new process looks for closed runs. The sweep visits every open order at least daily. */
const LOOK_BACK_MS = 86_400_000;
/** A run is listed some time after it has closed, and the clocks of Postgres and Temporal may differ. */
const OVERLAP_MS = 5 * 60_000;

export interface ScanOptions {
  db: Db;
  workflows: OrderWorkflows;
  idempotencyKeyDays: number;
  /** How long after its order has closed an application's personal data is kept, in ms. */
  applicationRetentionMs: number;
}

/**
 * Creates the periodic jobs: some find orders and make them due, the others delete expired data. Each is safe to repeat.
 */
export function createScans(
  { db, workflows, idempotencyKeyDays, applicationRetentionMs }: ScanOptions,
  signal: AbortSignal,
): (() => Promise<unknown>)[] {
  let brokenSince: Date | undefined;
  let openRuns = workflows.listOpen(undefined);
  let lastSeen: Date | undefined;

  /** Makes orders due whose run was closed by force or keeps failing. */
  async function findBroken(): Promise<void> {
    const startedAt = (await readClock(db)).getTime();
    brokenSince ??= new Date(startedAt - LOOK_BACK_MS);
    let batch: string[] = [];
    try {
      for await (const orderId of workflows.findBroken(brokenSince)) {
        if (signal.aborted) return;
        batch.push(orderId);
        if (batch.length < BATCH) continue;
        await makeDue(db, batch);
        batch = [];
      }
    } finally {
      // A scan that always fails at the same place still makes due what it found before.
      await makeDue(db, batch);
    }
    // A scan that fails is repeated from the same time.
    brokenSince = new Date(startedAt - OVERLAP_MS);
  }

  /** Shows how many runs keep failing. If the cause lasts, such as a missing key, their replacements fail too. */
  async function measureStuck(): Promise<void> {
    try {
      stuckRuns.set(await workflows.countStuck());
    } catch (error) {
      stuckRuns.remove();
      throw error;
    }
  }

  /** Walks through all open runs, some in each scan, again and again. */
  async function nextOpenRuns(): Promise<ListedRun[]> {
    const runs: ListedRun[] = [];
    try {
      while (runs.length < OPEN_RUNS) {
        const run = await openRuns.next();
        lastSeen = run.value?.startedAt;
        if (run.done === true) {
          openRuns = workflows.listOpen(undefined);
          break;
        }
        runs.push(run.value);
      }
    } catch (error) {
      openRuns = workflows.listOpen(lastSeen);
      if (runs.length === 0) throw error;
    }
    return runs;
  }

  /** Makes orders due whose rows do not match their open runs: one of the databases was restored. */
  async function compareOpenRuns(): Promise<void> {
    const runs = await nextOpenRuns();
    const orderIds = runs.map(({ orderId }) => orderId);
    await makeDueIfSettled(db, orderIds);
    await makeDueIfStatusDiffers(
      db,
      orderIds,
      runs.map(({ status }) => status),
    );
  }

  /**
   * Makes orders due that are open although their runs have completed: a restored Postgres. Begins with the last ones, and
   * ends where there are none.
   */
  async function findUndone(): Promise<void> {
    let batch: string[] = [];
    for await (const orderId of workflows.listCompleted()) {
      batch.push(orderId);
      if (batch.length < BATCH) continue;
      if (signal.aborted || (await makeDueIfOpen(db, batch)) === 0) return;
      batch = [];
    }
    await makeDueIfOpen(db, batch);
  }

  /** Repeats a deletion until it finds less than a full batch. */
  async function inBatches(deleteBatch: (limit: number) => Promise<number>): Promise<void> {
    let deleted = BATCH;
    while (deleted === BATCH && !signal.aborted) deleted = await deleteBatch(BATCH);
  }

  return [
    findBroken,
    measureStuck,
    () => makeDueIfWebhookOverdue(db, BATCH),
    compareOpenRuns,
    findUndone,
    () => inBatches((limit) => pruneIdempotencyKeys(db, idempotencyKeyDays, limit)),
    () => inBatches((limit) => purgeApplicantData(db, applicationRetentionMs, limit)),
    () => deleteExpiredSecrets(db),
    () => deleteAbandonedBreakers(db),
  ];
}
