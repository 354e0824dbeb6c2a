import type { Logger } from 'pino';
import type { DueOrder } from '../../db/due-orders';
import { finishSettled, markRunning, markStuck } from '../../db/order-work';
import type { Db } from '../../db/pool';
import { RECOVERY_REASONS } from '../../domain/recovery-reason';
import type { InspectedWorkflow } from '../../temporal/inspect-workflow';
import { ChangeRefused } from '../../temporal/change-through-workflow';
import { type OrderWorkflows, toPrevious } from '../../temporal/order-workflows';
import type { NewOrderStarts } from './new-order-starts';
import { createPostponedLog } from './postponed-log';

const INSPECT_TIMEOUT_MS = 5000;

interface CheckOptions {
  db: Db;
  workflows: OrderWorkflows;
  starts: NewOrderStarts;
  log: Logger;
  /** Until the next check of an order that is not settled, in ms. */
  checkAfterMs: number;
}

/**
 * Creates a function that checks a due order: it starts or resumes the order's workflow, replaces a run that cannot
 * continue it, and passes on what waits in Postgres. An order whose check fails is due again when its lease ends.
 */
export function createOrderCheck({ db, workflows, starts, log, checkAfterMs }: CheckOptions) {
  const logPostponed = createPostponedLog(log, 'sweep: orders could not be checked, retrying later');

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
  async function notify(due: DueOrder): Promise<void> {
    if (due.agreementPending) await complete(due);
    if (due.decisionPending) await workflows.requestDecision(due.order, 'sweep');
    if (due.resendPending) await workflows.resendWebhooks(due.order, 'sweep');
  }

  /** Terminates a run that cannot continue the order, and starts one that reads the row. */
  async function replace({ order, settled }: DueOrder, run: InspectedWorkflow, reason: string): Promise<void> {
    log.error({ order_id: order.id, run_id: run.runId, reason }, 'sweep: replacing the run of an order');
    await workflows.terminate(order.id, run.runId, reason);
    // Until it was closed, Temporal accepted requests for it.
    const previous = toPrevious(await workflows.inspect(order.id, INSPECT_TIMEOUT_MS), order, 'sweep');
    // A settled order gets a run too, so that the newest run matches the row.
    await workflows.resume(order, { ...previous, reason: settled ? null : reason });
  }

  /**
   * True if the newest run certainly matches the row: it has the row's status, and runs or, if the order is settled, has
   * completed.
   */
  async function matchesRow({ order, settled }: DueOrder): Promise<boolean> {
    if (order.status === 'UNSUCCESSFUL') return false;
    const run = await workflows.describe(order.id, INSPECT_TIMEOUT_MS);
    return run?.orderStatus === order.status && !run.stuck && (settled ? run.completed : run.running);
  }

  /**
   * @returns true if nothing is left to prove: the newest run has the row's last change and, if the order is settled,
   * has closed
   */
  async function recover(due: DueOrder): Promise<boolean> {
    const { order, settled, stuckRecently, webhookOverdue } = due;
    // Most runs match their rows. Temporal's history is read for the others only.
    if (!webhookOverdue && (await matchesRow(due))) return true;
    const run = await workflows.inspect(order.id, INSPECT_TIMEOUT_MS);
    const isBehind = run?.saved !== undefined && run.saved.order.version < order.version;
    if (!run?.running) {
      const isAhead = (run?.saved?.order.version ?? 0) > order.version;
      if (settled && !isAhead && !isBehind && !run?.unprocessed.length) return true;
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

  return async function check(due: DueOrder): Promise<void> {
    const { order, settled, started, requests } = due;
    try {
      // The row of a restored backup may not know that its workflow was started, and ran on.
      const isConfirmed = (!started && (await starts.start(due))) || (await recover(due));
      // Otherwise it is due again when its lease ends.
      if (settled) {
        if (isConfirmed) await finishSettled(db, order.id, order.version);
        return;
      }
      await notify(due);
      await markRunning(db, order.id, checkAfterMs, { version: isConfirmed ? order.version : 0, passedOn: requests });
    } catch (error) {
      logPostponed(order.id, error);
    }
  };
}

/** Why a run cannot continue the order; undefined if it can. */
function replaceReason(due: DueOrder, run: InspectedWorkflow): string | undefined {
  const { order, settled, savedRecently, stuckRecently } = due;
  if (!savedRecently && run.saved && run.saved.order.version < order.version) {
    return `${RECOVERY_REASONS.behind_row}: at version ${run.saved.order.version} of ${order.version}`;
  }
  // One that has just replaced another run still reads the row.
  if (!savedRecently && settled && run.saved && !run.isBusy) return RECOVERY_REASONS.still_running;
  if (!isStuck(due, run) || stuckRecently) return undefined;
  return run.failureReason ?? RECOVERY_REASONS.webhook_overdue;
}

/** True if the run does not work on the order, although it has all its changes. */
function isStuck({ webhookOverdue }: DueOrder, run: InspectedWorkflow): boolean {
  return run.failureReason !== null || (webhookOverdue && !run.isBusy);
}
