import { ApplicationFailure } from '@temporalio/activity';
import { toStatusWebhooks } from '../src/contracts/status-webhooks';
import { findOrder } from '../src/db/find-orders';
import { isApplicationPending, sweepSoon } from '../src/db/order-work';
import type { Db } from '../src/db/pool';
import { type Refusal, RowConflict, insertRefusal, saveOrder } from '../src/db/save-order';
import { type PendingWebhook, type Resend, findPendingWebhooks, findResends } from '../src/db/webhook-events';
import { type WorkflowHistory, toWorkflowHistory } from '../src/domain/order';
import { type RetrySchedule, type WhileSuccessorWaits, whileSuccessorWaits } from '../src/domain/retry-schedule';

export interface OrderActivityOptions {
  db: Db;
  schedule: RetrySchedule;
  checkoutBaseUrl: string;
  /** Milliseconds until the sweep checks a saved order that is still open. */
  checkAfterMs: number;
}

/** A pending webhook for the delivery queue. Waits are durations: the workflow counts them by its own clock. */
export type QueuedWebhook = Omit<PendingWebhook, 'waitedMs'> & WhileSuccessorWaits;

export interface LoadedOrder {
  history: WorkflowHistory;
  pendingWebhooks: QueuedWebhook[];
  resends: Resend[];
  applicationPending: boolean;
}

/** Reads and writes of an order's row. Each is safe to repeat. */
export function createOrderActivities({ db, schedule, checkoutBaseUrl, checkAfterMs }: OrderActivityOptions) {
  const forQueue = (pending: PendingWebhook[]): QueuedWebhook[] =>
    pending.map(({ waitedMs, ...event }) => ({ ...event, ...whileSuccessorWaits(schedule, { ...event, waitedMs }) }));

  return {
    /** Reads an order from its row, for a run that resumes it. */
    async loadOrder(orderId: string): Promise<LoadedOrder> {
      const stored = await findOrder(db, orderId);
      if (!stored) throw ApplicationFailure.nonRetryable(`order ${orderId} does not exist`, 'OrderNotFound');
      return {
        history: toWorkflowHistory(stored),
        pendingWebhooks: forQueue(await findPendingWebhooks(db, orderId)),
        resends: await findResends(db, orderId),
        applicationPending: await isApplicationPending(db, orderId),
      };
    },

    /** Saves row, timeline and webhook events in one transaction. Returns the order's pending webhooks. */
    async saveOrder(history: WorkflowHistory): Promise<QueuedWebhook[]> {
      const stored = await findOrder(db, history.order.id);
      const webhooks = stored?.order.webhookUrl == null ? [] : toStatusWebhooks(stored, history, checkoutBaseUrl);
      try {
        return forQueue(await saveOrder(db, history, webhooks, checkAfterMs));
      } catch (error) {
        if (!(error instanceof RowConflict)) throw error;
        await sweepSoon(db, history.order.id);
        throw ApplicationFailure.nonRetryable(error.message, 'RowConflict');
      }
    },

    findResends: (orderId: string): Promise<Resend[]> => findResends(db, orderId),

    /** Records a refused signal in the timeline. */
    async recordRefusal(refusal: Refusal): Promise<void> {
      await insertRefusal(db, refusal);
    },
  };
}
