import { BulkheadRejectedError, bulkhead } from 'cockatiel';
import type { Logger } from 'pino';
import { markRunning } from '../../db/order-work';
import type { Db } from '../../db/pool';
import type { Order, OrderHistory } from '../../domain/order';
import type { OrderWorkflows } from '../../temporal/order-workflows';

/** The maximum number of calls that wait for a free slot. The sweep makes all further calls. */
const MAX_WAITING = 500;

/** The time that the dispatcher has to notify a workflow before the sweep does. */
export const SWEEP_AFTER_MS = 10_000;

/** Starts and signals workflows in the background. The sweep retries calls that fail. */
export interface WorkflowDispatcher {
  /** Starts the workflow of a new order. */
  start(history: OrderHistory): void;
  /** Notifies a workflow that it has webhooks to resend. */
  resendWebhooks(order: Order): void;
  /** Notifies a workflow that it has to request the lender's decision. */
  applicationSubmitted(order: Order): void;
  /** Resolves when the calls in flight have ended. The sweep makes the calls that still wait. */
  drain(): Promise<void>;
}

/** @param checkAfterMs until the sweep checks whether a started workflow still runs */
export function createWorkflowDispatcher(
  { db, workflows, log }: { db: Db; workflows: OrderWorkflows; log: Logger },
  { inFlight, checkAfterMs }: { inFlight: number; checkAfterMs: number },
): WorkflowDispatcher {
  const limit = bulkhead(inFlight, MAX_WAITING);
  const running = new Set<Promise<void>>();
  let draining = false;

  async function run(orderId: string, call: () => Promise<void>): Promise<void> {
    try {
      await limit.execute(async () => {
        if (draining) return;
        await call();
        await markRunning(db, orderId, checkAfterMs);
      });
    } catch (error) {
      const reason = error instanceof BulkheadRejectedError ? 'too many calls are waiting' : String(error);
      log.warn({ order_id: orderId, reason }, 'the workflow could not be notified: the sweep will retry');
    }
  }

  function inBackground(orderId: string, call: () => Promise<void>): void {
    const done = run(orderId, call).finally(() => running.delete(done));
    running.add(done);
  }

  return {
    start: (history) => inBackground(history.order.id, () => workflows.start(history)),
    resendWebhooks: (order) => inBackground(order.id, () => workflows.resendWebhooks(order)),
    applicationSubmitted: (order) => inBackground(order.id, () => workflows.applicationSubmitted(order)),
    async drain() {
      draining = true;
      await Promise.all(running);
    },
  };
}
