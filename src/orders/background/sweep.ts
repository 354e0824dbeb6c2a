import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { purgeApplicantData } from '../../db/applications';
import { pruneIdempotencyKeys } from '../../db/idempotency-keys';
import {
  type DueOrder,
  finishSettled,
  leaseDueOrders,
  markRunning,
  markStuck,
  sweepNow,
  sweepOverdue,
} from '../../db/order-work';
import type { Db } from '../../db/pool';
import { deleteExpiredSecrets } from '../../db/secrets';
import type { Order } from '../../domain/order';
import type { InspectedWorkflow } from '../../temporal/inspect-workflow';
import { type OrderWorkflows, ChangeRefused, toPrevious } from '../../temporal/order-workflows';

const BATCH = 50;
const PRUNE_BATCH = 1000;
/** One in this many sweeps, about every minute, makes the queries that scan: for broken runs, old applications, secrets. */
const SWEEPS_PER_SCAN = 12;
/** If a sweep process dies, its orders are due again after this time. */
const LEASE_MS = 30_000;
/** A workflow has every change that is older than this, unless it was reset or restored. */
const KNOWN_AFTER_MS = 60_000;
const INSPECT_TIMEOUT_MS = 5000;
const BROKEN_BATCH = 500;
/** How far back a new process looks for closed runs. The sweep visits every open order at least daily. */
const DAY_MS = 86_400_000;
/** A run is listed some time after it has closed. */
const VISIBILITY_LAG_MS = 60_000;

/** Times in ms. */
export interface SweepOptions {
  db: Db;
  workflows: OrderWorkflows;
  log: Logger;
  intervalMs: number;
  checkAfterMs: number;
  idempotencyKeyDays: number;
  /** How long after its order has closed an application's personal data is kept. */
  applicationRetentionMs: number;
}

/**
 * Starts workflows that were never started, and resumes workflows that are missing although their order is open or has
 * an unsettled webhook: after a crash, a lost Temporal database or an operator's terminate. Also prunes old
 * Idempotency-Keys and expired webhook secrets, and purges the personal data of old applications.
 * @returns a function that stops the sweep and resolves once it has stopped
 */
export function startSweep(options: SweepOptions): () => Promise<void> {
  const { db, workflows, log, intervalMs, checkAfterMs, idempotencyKeyDays, applicationRetentionMs } = options;
  const stopping = new AbortController();
  let brokenSince = Date.now() - DAY_MS;

  /** Completes an order whose customer agreed while the workflow was unavailable. */
  async function complete(order: Order): Promise<void> {
    try {
      await workflows.change(order, { event: 'completed', actor: 'customer', reason: null });
    } catch (error) {
      // Another change, such as a cancel, was made first.
      if (!(error instanceof ChangeRefused)) throw error;
    }
  }

  /** Passes on what waits in Postgres. */
  async function passOn({ order, resendPending, applicationPending, agreementPending }: DueOrder): Promise<void> {
    if (agreementPending) await complete(order);
    if (applicationPending) await workflows.applicationSubmitted(order);
    if (resendPending) await workflows.resendWebhooks(order);
  }

  /** Terminates a run that cannot continue the order, and starts one that reads the row. */
  async function replace({ order, settled }: DueOrder, run: InspectedWorkflow, reason: string): Promise<void> {
    log.error({ order_id: order.id, run_id: run.runId, reason }, 'sweep: replacing the run of an order');
    await workflows.terminate(order.id, run.runId, reason);
    // A settled order gets a run too, so that the newest run agrees with the row.
    await workflows.resume(order, { saved: run.saved ?? null, reason: settled ? null : reason });
  }

  async function heal(due: DueOrder): Promise<void> {
    const { order, settled, stuckRecently } = due;
    const run = await workflows.inspect(order.id, INSPECT_TIMEOUT_MS);
    if (!run?.running) {
      const isAhead = (run?.saved?.order.version ?? 0) > order.version;
      const isBehind = run?.saved !== undefined && run.saved.order.version < order.version;
      if (settled && !isAhead && !isBehind) return;
      const previous = toPrevious(run);
      log.warn({ order_id: order.id, run_id: run?.runId, reason: previous.reason }, 'sweep: resuming an order');
      await workflows.resume(order, previous);
      return;
    }
    const reason = replaceReason(due, run);
    if (reason !== undefined) await replace(due, run, reason);
    else if (run.saved && run.saved.order.version > order.version) await workflows.saveAgain(order.id);
    if (isStuck(due, run) && !stuckRecently) await markStuck(db, order.id);
  }

  async function check(due: DueOrder): Promise<void> {
    const { order, changes, started, settled, requests } = due;
    try {
      if (started) await heal(due);
      else await workflows.start({ order, changes });
      if (settled) {
        await finishSettled(db, order.id);
        return;
      }
      await passOn(due);
      await markRunning(db, order.id, checkAfterMs, requests);
    } catch (error) {
      log.warn({ order_id: order.id, err: error }, 'sweep: an order could not be checked, retrying later');
    }
  }

  /** Makes orders due whose run was closed by force, keeps failing, or does not deliver. */
  async function findBroken(): Promise<void> {
    const since = new Date(brokenSince);
    brokenSince = Date.now() - VISIBILITY_LAG_MS;
    await sweepOverdue(db, BROKEN_BATCH);
    for await (const orderId of workflows.findBroken(since)) await sweepNow(db, [orderId]);
  }

  /** @returns true if more work is due now */
  async function sweepOnce(count: number): Promise<boolean> {
    const orders = await leaseDueOrders(db, BATCH, LEASE_MS);
    await Promise.all(orders.map(check));
    const pruned = await pruneIdempotencyKeys(db, idempotencyKeyDays, PRUNE_BATCH);
    if (count % SWEEPS_PER_SCAN === 0) {
      await purgeApplicantData(db, applicationRetentionMs, PRUNE_BATCH);
      await deleteExpiredSecrets(db);
      await findBroken();
    }
    return orders.length === BATCH || pruned === PRUNE_BATCH;
  }

  async function run(): Promise<void> {
    for (let count = 0; !stopping.signal.aborted; count++) {
      let more = false;
      try {
        more = await sweepOnce(count);
      } catch (error) {
        log.warn({ err: error }, 'sweep: failed, retrying later');
      }
      if (!more) await delay(intervalMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const running = run();
  return async () => {
    stopping.abort();
    await running;
  };
}

/** Why a run cannot continue the order; undefined if it can. */
function replaceReason(due: DueOrder, run: InspectedWorkflow): string | undefined {
  const { order, changes, settled, stuckRecently } = due;
  // Right after a save, the history may not have the change yet.
  const isOld = Date.now() - Date.parse(changes.at(-1)?.at ?? order.createdAt) >= KNOWN_AFTER_MS;
  if (isOld && run.saved && run.saved.order.version < order.version) {
    return `it was behind the row: at version ${run.saved.order.version} of ${order.version}`;
  }
  if (isOld && settled && !run.isBusy) return 'it still ran, although the order was settled';
  if (!isStuck(due, run) || stuckRecently) return undefined;
  return run.problem ?? 'its next webhook was overdue, and it was not sending';
}

/** True if the run does not work on the order, although it has all its changes. */
function isStuck({ webhookOverdue }: DueOrder, run: InspectedWorkflow): boolean {
  return run.problem !== null || (webhookOverdue && !run.isBusy);
}
