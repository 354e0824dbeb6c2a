import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import type { Logger } from 'pino';
import { toStatusWebhooks } from '../src/contracts/status-webhooks';
import { type StoredOrder, findOrder } from '../src/db/find-orders';
import { isDecisionPending, makeDueSoon } from '../src/db/order-work';
import type { Db } from '../src/db/pool';
import { CustomerAgreed, PaymentProcessing, RowConflict, saveOrder } from '../src/db/save-order';
import { type Refusal, insertRecovery, insertRefusal } from '../src/db/timeline-notes';
import { type PendingWebhook, type RequestedResend, findPendingWebhooks, findResends } from '../src/db/webhook-events';
import { CUSTOMER_AGREED_FAILURE, PAYMENT_PROCESSING_FAILURE } from '../src/domain/activity-failures';
import {
  type OrderChange,
  type PreviousRun,
  type WorkflowOrderHistory,
  firstDifference,
  stateAfter,
  toWorkflowOrderHistory,
} from '../src/domain/order';
import { RECOVERY_REASONS } from '../src/domain/recovery-reason';
import type { Channel } from '../src/domain/status';
import { type RetrySchedule, type WhileSuccessorWaits, whileSuccessorWaits } from '../src/domain/retry-schedule';
import { currentRequestContext } from '../src/telemetry/current-request-context';
import { reportChanges, reportRefusedSignal, reportReplacedRun } from '../src/telemetry/report';

export interface OrderActivityOptions {
  db: Db;
  schedule: RetrySchedule;
  checkoutBaseUrl: string;
  /** Milliseconds until the sweep checks a saved order that is still open. */
  checkAfterMs: number;
  log: Logger;
}

/**
 * A save commits before Temporal's history has it. If both a worker and the server die in between, the row is ahead of
 * the workflow until the sweep compares them.
 */
const UNPROVEN_MS = 40_000;

/** A pending webhook for the delivery queue. Waits are durations: the workflow counts them by its own clock. */
export type QueuedWebhook = Omit<PendingWebhook, 'waitedMs'> & WhileSuccessorWaits;

/** An order as the row holds it. The Temporal server keeps it as the result of the activity: see `lastSaved`. */
export interface SavedOrder {
  history: WorkflowOrderHistory;
  /** All that are pending, or those that the save has added. */
  pendingWebhooks: QueuedWebhook[];
}

export interface LoadedOrder extends SavedOrder {
  resends: RequestedResend[];
  /** True if the lender has to decide, or the bank to confirm a payment. */
  decisionPending: boolean;
}

const ROW_RESTORED_PHRASE = RECOVERY_REASONS.row_restored;

/** Reads and writes of an order's row. Each is safe to repeat. */
export function createOrderActivities({ db, schedule, checkoutBaseUrl, checkAfterMs, log }: OrderActivityOptions) {
  const forQueue = (pending: PendingWebhook[]): QueuedWebhook[] =>
    pending.map(({ waitedMs, ...event }) => ({ ...event, ...whileSuccessorWaits(schedule, { ...event, waitedMs }) }));

  async function read(orderId: string): Promise<StoredOrder> {
    const stored = await findOrder(db, orderId);
    if (!stored) throw ApplicationFailure.nonRetryable(`order ${orderId} does not exist`, 'OrderNotFound');
    return stored;
  }

  /**
   * Saves what an earlier run had saved and the row of a restored backup lacks. Returns what was found, for the
   * timeline.
   */
  async function adopt(orderId: string, saved: WorkflowOrderHistory | null | undefined): Promise<string | undefined> {
    if (!saved) return undefined;
    const stored = await read(orderId);
    const different = firstDifference(stored.changes, saved.changes);
    if (different !== undefined) {
      const lost = saved.changes[different - 1]?.event;
      return `${ROW_RESTORED_PHRASE} had another version ${different} (${lost}), which is not applied`;
    }
    const missing = saved.changes.length - stored.changes.length;
    if (missing <= 0) return undefined;
    try {
      await save(stored, saved, true);
    } catch (error) {
      if (!(error instanceof CustomerAgreed)) throw error;
      return `${ROW_RESTORED_PHRASE} had expired the order, but its customer has agreed, so that is not applied`;
    }
    return `the row lacked ${missing} change${missing === 1 ? '' : 's'} of ${ROW_RESTORED_PHRASE}`;
  }

  async function save(
    stored: StoredOrder | undefined,
    history: WorkflowOrderHistory,
    isRestored: boolean,
  ): Promise<SavedOrder> {
    const webhooks = stored?.order.webhookUrl == null ? [] : toStatusWebhooks(stored, history, checkoutBaseUrl);
    const request = currentRequestContext();
    const { changes, pending } = await saveOrder(
      db,
      history,
      webhooks.map((webhook) => ({ ...webhook, request })),
      { unprovenMs: UNPROVEN_MS, checkAfterMs },
      isRestored,
    );
    reportChanges(log, history.order.id, changes.slice(stored?.changes.length ?? 0));
    return { history: withChanges(history, changes), pendingWebhooks: forQueue(pending) };
  }

  async function recordRecovery(orderId: string, channel: Channel, reason: string): Promise<void> {
    const { runId } = activityInfo().workflowExecution ?? {};
    if (runId === undefined) return;
    if (await insertRecovery(db, { id: runId, orderId, channel, reason }))
      reportReplacedRun(log, orderId, runId, reason);
  }

  return {
    /**
     * Reads an order from its row, for a run that resumes it. First brings the row forward to what `previous` saved.
     */
    async loadOrder(orderId: string, previous?: PreviousRun): Promise<LoadedOrder> {
      const reasons = [previous?.reason, await adopt(orderId, previous?.saved)].filter((reason) => reason != null);
      const stored = await read(orderId);
      if (reasons.length > 0) await recordRecovery(orderId, previous?.channel ?? 'temporal', reasons.join('; '));
      return {
        history: toWorkflowOrderHistory(stored),
        pendingWebhooks: forQueue(await findPendingWebhooks(db, orderId)),
        resends: await findResends(db, orderId),
        decisionPending: await isDecisionPending(db, orderId),
      };
    },

    /**
     * Saves row, timeline and webhook events, all or nothing. Returns the order as the row holds it.
     * @param isRestored see `saveOrder` of the database
     */
    async saveOrder(history: WorkflowOrderHistory, isRestored: boolean): Promise<SavedOrder> {
      try {
        return await save(await findOrder(db, history.order.id), history, isRestored);
      } catch (error) {
        if (error instanceof CustomerAgreed)
          throw ApplicationFailure.nonRetryable(error.message, CUSTOMER_AGREED_FAILURE);
        if (error instanceof PaymentProcessing)
          throw ApplicationFailure.nonRetryable(error.message, PAYMENT_PROCESSING_FAILURE);
        if (!(error instanceof RowConflict)) throw error;
        await makeDueSoon(db, history.order.id);
        throw ApplicationFailure.nonRetryable(error.message, 'RowConflict');
      }
    },

    findResends: (orderId: string): Promise<RequestedResend[]> => findResends(db, orderId),

    /** Records a refused signal in the timeline. */
    async recordRefusal(refusal: Refusal): Promise<void> {
      const isNew = await insertRefusal(db, refusal);
      if (isNew) reportRefusedSignal(log, refusal);
    },
  };
}

function withChanges({ order }: WorkflowOrderHistory, changes: readonly OrderChange[]): WorkflowOrderHistory {
  const last = changes.at(-1);
  return { order: last ? { ...order, ...stateAfter({ order, changes }, last) } : order, changes };
}
