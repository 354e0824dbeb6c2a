import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { purgeApplicantData } from '../../db/applications';
import { pruneIdempotencyKeys } from '../../db/idempotency-keys';
import {
  type DueKind,
  type DueOrder,
  finishSettled,
  leaseDueOrders,
  markRunning,
  markStuck,
  sweepNow,
  sweepOverdue,
  sweepSettled,
} from '../../db/order-work';
import type { Db } from '../../db/pool';
import { deleteExpiredSecrets } from '../../db/secrets';
import { deleteAbandonedBreakers } from '../../db/endpoint-breaker';
import { RECOVERY_REASONS } from '../../domain/recovery-reason';
import type { InspectedWorkflow } from '../../temporal/inspect-workflow';
import { type OrderWorkflows, ChangeRefused, toPrevious } from '../../temporal/order-workflows';
import { createAdaptiveLimit } from './adaptive-limit';
import { logMissed } from './missed-calls';
import { createStartDelay } from './start-delay';
import { runWorkLoop } from './work-loop';

/** Orders of one kind that a worker checks at the same time. */
const CONCURRENCY = 20;
const PRUNE_BATCH = 1000;
/** Intervals, about a minute, between two scans for broken runs, old applications, secrets and endpoints. */
const INTERVALS_PER_SCAN = 12;
/** If a sweep process dies, its orders are due again after this time. */
const LEASE_MS = 30_000;
/** After this time, a change in the row is no longer on its way into Temporal's history. */
const KNOWN_AFTER_MS = 30_000;
const INSPECT_TIMEOUT_MS = 5000;
const BROKEN_BATCH = 500;
/** The open runs that one scan looks at. The next one continues: a million take most of a day. */
const OPEN_RUNS = 1000;
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
  /** The maximum number of new orders that are started at the same time. */
  startsInFlight: number;
  /** How long a new order's workflow waits for a first message. */
  startDelayMs: number;
  idempotencyKeyDays: number;
  /** How long after its order has closed an application's personal data is kept. */
  applicationRetentionMs: number;
}

/**
 * Starts workflows that were never started, and resumes workflows that are missing although their order is open or has
 * a pending webhook or a requested resend: after a crash, a lost Temporal database or an operator's terminate. Also prunes old
 * Idempotency-Keys and expired webhook secrets, and purges the personal data of old applications.
 * @returns a function that stops the sweep and resolves once it has stopped
 */
export function startSweep(options: SweepOptions): () => Promise<void> {
  const { db, workflows, log, intervalMs, checkAfterMs, startsInFlight, startDelayMs } = options;
  const { idempotencyKeyDays, applicationRetentionMs } = options;
  const stopping = new AbortController();
  const starts = createAdaptiveLimit(startsInFlight);
  const nextDelay = createStartDelay(startDelayMs);
  const missed = logMissed(log, 'sweep: orders could not be checked, retrying later');
  let brokenSince = Date.now() - DAY_MS;
  let openRuns = workflows.listOpen();

  /** Completes an order whose customer agreed while the workflow was unavailable. */
  async function complete(due: DueOrder): Promise<void> {
    try {
      await workflows.change(
        { ...due, started: true },
        { event: 'completed', actor: 'customer', channel: 'sweep', reason: null },
      );
    } catch (error) {
      // Another change, such as a cancel, was made first.
      if (!(error instanceof ChangeRefused)) throw error;
    }
  }

  /** Passes on what waits in Postgres. */
  async function passOn(due: DueOrder): Promise<void> {
    if (due.agreementPending) await complete(due);
    if (due.applicationPending) await workflows.applicationSubmitted(due.order, 'sweep');
    if (due.resendPending) await workflows.resendWebhooks(due.order, 'sweep');
  }

  /** Terminates a run that cannot continue the order, and starts one that reads the row. */
  async function replace({ order, settled }: DueOrder, run: InspectedWorkflow, reason: string): Promise<void> {
    log.error({ order_id: order.id, run_id: run.runId, reason }, 'sweep: replacing the run of an order');
    await workflows.terminate(order.id, run.runId, reason);
    // A settled order gets a run too, so that the newest run agrees with the row.
    await workflows.resume(order, { saved: run.saved ?? null, reason: settled ? null : reason, channel: 'sweep' });
  }

  /** @returns false if the run may still lack the order's last change, or is open although the order is settled */
  async function heal(due: DueOrder): Promise<boolean> {
    const { order, settled, stuckRecently, webhookOverdue } = due;
    // Most runs agree with their rows. Only the others are worth reading a history.
    if (!webhookOverdue && (await workflows.agrees(due, settled, INSPECT_TIMEOUT_MS))) return true;
    const run = await workflows.inspect(order.id, INSPECT_TIMEOUT_MS);
    const isBehind = run?.saved !== undefined && run.saved.order.version < order.version;
    if (!run?.running) {
      const isAhead = (run?.saved?.order.version ?? 0) > order.version;
      if (settled && !isAhead && !isBehind) return true;
      const previous = toPrevious(run, order, 'sweep');
      log.warn({ order_id: order.id, run_id: run?.runId, reason: previous.reason }, 'sweep: resuming an order');
      await workflows.resume(order, previous);
      return !settled;
    }
    const reason = replaceReason(due, run);
    if (reason !== undefined) await replace(due, run, reason);
    else if (run.saved && run.saved.order.version > order.version) await workflows.saveAgain(order.id);
    if (isStuck(due, run) && !stuckRecently) await markStuck(db, order.id);
    return !settled && (reason !== undefined || !isBehind);
  }

  async function check(due: DueOrder): Promise<void> {
    const { order, settled, started, requests } = due;
    try {
      const isKnown = started ? await heal(due) : await start(due).then(() => true);
      // Otherwise it is due again when its lease ends.
      if (settled) {
        if (isKnown) await finishSettled(db, order.id, order.version);
        return;
      }
      await passOn(due);
      await markRunning(db, order.id, checkAfterMs, { version: isKnown ? order.version : 0, passedOn: requests });
    } catch (error) {
      missed(order.id, error);
    }
  }

  /** The orders that are left to the sweep are those that the API had no time for: it does not start them at once either. */
  async function start(due: DueOrder): Promise<void> {
    const startedAt = performance.now();
    try {
      await workflows.start(due, nextDelay());
    } finally {
      starts.observe(performance.now() - startedAt);
    }
  }

  /** Makes orders due whose run was closed by force or keeps failing. */
  async function findBroken(): Promise<void> {
    const startedAt = Date.now();
    let batch: string[] = [];
    try {
      for await (const orderId of workflows.findBroken(new Date(brokenSince))) {
        if (stopping.signal.aborted) return;
        batch.push(orderId);
        if (batch.length < BROKEN_BATCH) continue;
        await sweepNow(db, batch);
        batch = [];
      }
    } finally {
      // A scan that always fails at the same place still makes due what it found before.
      await sweepNow(db, batch);
    }
    // A scan that fails is repeated from the same time.
    brokenSince = startedAt - VISIBILITY_LAG_MS;
  }

  /** Walks through all open runs, some in each scan, again and again. */
  async function nextOpenRuns(): Promise<string[]> {
    const orderIds: string[] = [];
    while (orderIds.length < OPEN_RUNS) {
      const run = await openRuns.next();
      if (run.done === true) {
        openRuns = workflows.listOpen();
        break;
      }
      orderIds.push(run.value);
    }
    return orderIds;
  }

  async function prune(): Promise<void> {
    let pruned = PRUNE_BATCH;
    while (pruned === PRUNE_BATCH && !stopping.signal.aborted) {
      pruned = await pruneIdempotencyKeys(db, idempotencyKeyDays, PRUNE_BATCH);
    }
  }

  /** Jobs that make orders due, and jobs that delete. One that fails holds up none of the others. */
  const scans: (() => Promise<unknown>)[] = [
    findBroken,
    () => sweepOverdue(db, BROKEN_BATCH),
    async () => sweepSettled(db, await nextOpenRuns()),
    () => purgeApplicantData(db, applicationRetentionMs, PRUNE_BATCH),
    () => deleteExpiredSecrets(db),
    () => deleteAbandonedBreakers(db),
  ];

  const isStopping = (): boolean => stopping.signal.aborted;

  async function tidy(): Promise<void> {
    for (let count = 0; !isStopping(); count++) {
      for (const job of [prune, ...(count % INTERVALS_PER_SCAN === 0 ? scans : [])]) {
        if (isStopping()) return;
        await job().catch(onError);
      }
      await delay(intervalMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  function onError(error: unknown): void {
    log.warn({ err: error }, 'sweep: failed, retrying later');
  }

  const runLoop = (kind: DueKind, capacity: () => number): Promise<void> =>
    runWorkLoop(
      { capacity, lease: (limit) => leaseDueOrders(db, kind, limit, LEASE_MS), work: check, onError, intervalMs },
      stopping.signal,
    );
  const running = Promise.all([
    runLoop('requests', () => CONCURRENCY),
    runLoop('starts', () => starts.current),
    runLoop('checks', () => CONCURRENCY),
    tidy(),
  ]);
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
    return `${RECOVERY_REASONS.behind_row}: at version ${run.saved.order.version} of ${order.version}`;
  }
  // One that has just replaced another run still reads the row.
  if (isOld && settled && run.saved && !run.isBusy) return RECOVERY_REASONS.still_running;
  if (!isStuck(due, run) || stuckRecently) return undefined;
  return run.problem ?? RECOVERY_REASONS.webhook_overdue;
}

/** True if the run does not work on the order, although it has all its changes. */
function isStuck({ webhookOverdue }: DueOrder, run: InspectedWorkflow): boolean {
  return run.problem !== null || (webhookOverdue && !run.isBusy);
}
