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
  makeDueUnlessStuckRecently,
} from '../../db/order-work';
import type { Db } from '../../db/pool';
import { deleteExpiredSecrets } from '../../db/secrets';
import { stuckRuns } from '../../telemetry/metrics';
import type { ListedRun } from '../../temporal/list-runs';
import type { OrderWorkflows } from '../../temporal/order-workflows';

/** Rows that one statement changes. */
const BATCH = 500;
/**
 * How many runs are compared with their rows at a time. A scan compares one page of open runs: a million take most of a
 * day.
 */
const PAGE = 1000;
/** How far back a new process looks for closed runs. The sweep visits every open order at least daily. */
const LOOK_BACK_MS = 86_400_000;
/** A run is listed some time after it has closed, and the clocks of Postgres and Temporal may differ. */
const OVERLAP_MS = 5 * 60_000;

export interface PeriodicJobOptions {
  db: Db;
  workflows: OrderWorkflows;
  idempotencyKeyDays: number;
  /** How long after its order has closed an application's personal data is kept, in ms. */
  applicationRetentionMs: number;
}

/**
 * Creates the periodic jobs: some find orders and make them due, the others delete expired data. Each is safe to
 * repeat.
 */
export function createPeriodicJobs(
  { db, workflows, idempotencyKeyDays, applicationRetentionMs }: PeriodicJobOptions,
  signal: AbortSignal,
): (() => Promise<unknown>)[] {
  let closedSince: Date | undefined;
  const openRuns = createWalk((from) => workflows.listOpen(from));
  const completedRuns = createWalk((from) => workflows.listCompleted(from));

  /** Passes on a list in batches. One that always fails at the same place passes on what comes before. */
  async function forEachBatch(list: AsyncIterable<string>, pass: (batch: string[]) => Promise<void>): Promise<void> {
    let batch: string[] = [];
    try {
      for await (const orderId of list) {
        if (signal.aborted) return;
        batch.push(orderId);
        if (batch.length < BATCH) continue;
        await pass(batch);
        batch = [];
      }
    } finally {
      await pass(batch);
    }
  }

  /** Makes orders due whose run was closed by force, settled ones too: it may have left a request. */
  async function findClosedByForce(): Promise<void> {
    const startedAt = (await readClock(db)).getTime();
    closedSince ??= new Date(startedAt - LOOK_BACK_MS);
    await forEachBatch(workflows.findClosedByForce(closedSince), async (batch) => {
      await makeDue(db, batch);
      await makeDueIfSettled(db, batch);
    });
    // A scan that fails is repeated from the same time.
    closedSince = new Date(startedAt - OVERLAP_MS);
  }

  /** Makes orders due whose run keeps failing. */
  const findStuck = (): Promise<void> =>
    forEachBatch(workflows.findStuck(), (batch) => makeDueUnlessStuckRecently(db, batch));

  /** Shows how many runs keep failing. If the cause lasts, such as a missing key, their replacements fail too. */
  async function measureStuck(): Promise<void> {
    try {
      stuckRuns.set(await workflows.countStuck());
    } catch (error) {
      stuckRuns.remove();
      throw error;
    }
  }

  /**
   * Makes orders due whose rows do not match their open runs: one of the databases was restored. Each scan compares one
   * page.
   */
  async function compareOpenRuns(): Promise<void> {
    const runs = await openRuns.next(PAGE);
    const orderIds = runs.map(({ orderId }) => orderId);
    await makeDueIfSettled(db, orderIds);
    await makeDueIfStatusDiffers(
      db,
      orderIds,
      runs.map(({ status }) => status),
    );
  }

  /**
   * Makes orders due that are open although their runs have completed: Postgres was restored. It reads the runs that
   * completed last, and older ones as long as a page contains such an order.
   */
  async function compareCompletedRuns(): Promise<void> {
    while (!signal.aborted) {
      const runs = await completedRuns.next(PAGE);
      const orderIds = runs.map(({ orderId }) => orderId);
      const differing = await makeDueIfOpen(db, orderIds);
      if (differing === 0) completedRuns.restart();
      if (differing === 0 || runs.length < PAGE) return;
    }
  }

  /** Repeats a deletion until it finds less than a full batch. */
  async function inBatches(deleteBatch: (limit: number) => Promise<number>): Promise<void> {
    let deleted = BATCH;
    while (deleted === BATCH && !signal.aborted) deleted = await deleteBatch(BATCH);
  }

  return [
    findClosedByForce,
    findStuck,
    measureStuck,
    () => makeDueIfWebhookOverdue(db, BATCH),
    compareOpenRuns,
    compareCompletedRuns,
    () => inBatches((limit) => pruneIdempotencyKeys(db, idempotencyKeyDays, limit)),
    () => inBatches((limit) => purgeApplicantData(db, applicationRetentionMs, limit)),
    () => deleteExpiredSecrets(db),
    () => deleteAbandonedBreakers(db),
  ];
}

/**
 * Walks through a list of runs, again and again. After an error, it continues where it was.
 * @param list lists the runs from a time on, or all of them
 */
function createWalk(list: (from: Date | undefined) => AsyncIterator<ListedRun, undefined>) {
  let runs = list(undefined);
  let lastAt: Date | undefined;

  function restart(): void {
    runs = list(undefined);
    lastAt = undefined;
  }

  return {
    restart,
    /** Returns the next `limit` runs, or fewer at the end or before an error. Rejects if there is none before it. */
    async next(limit: number): Promise<ListedRun[]> {
      const found: ListedRun[] = [];
      try {
        while (found.length < limit) {
          const run = await runs.next();
          if (run.done === true) {
            restart();
            break;
          }
          lastAt = run.value.at;
          found.push(run.value);
        }
      } catch (error) {
        runs = list(lastAt);
        if (found.length === 0) throw error;
      }
      return found;
    },
  };
}
