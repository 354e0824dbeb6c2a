import { BulkheadRejectedError, bulkhead } from 'cockatiel';
import type { Logger } from 'pino';
import { markRunning } from '../../db/sweep';
import type { Db } from '../../db/pool';
import type { Order, OrderHistory } from '../../domain/order';
import type { OrderWorkflows } from '../../temporal/order-workflows';

/** How many starts may wait behind those in flight; what goes beyond is the sweep's. */
const QUEUE = 500;

/** How long the API tries to tell a workflow itself before the sweep does. */
export const SWEEP_AFTER_MS = 10_000;

/** Starts the workflows of new orders behind the answer; what it cannot start, the sweep does. */
export interface WorkflowDispatcher {
  start(history: OrderHistory): void;
  /** Tells a workflow in the same way that it has webhooks to send once more. */
  resendWebhooks(order: Order): void;
  /** And that it has the lender to ask for a decision. */
  applicationSubmitted(order: Order): void;
  /** Resolves when the starts in flight have ended; those still waiting are left to the sweep. */
  drain(): Promise<void>;
}

/** @param checkAfterMs until the sweep looks whether a started workflow still runs */
export function createWorkflowDispatcher(
  { db, workflows, log }: { db: Db; workflows: OrderWorkflows; log: Logger },
  { inFlight, checkAfterMs }: { inFlight: number; checkAfterMs: number },
): WorkflowDispatcher {
  const limit = bulkhead(inFlight, QUEUE);
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
      const reason = error instanceof BulkheadRejectedError ? 'too many starts are waiting' : String(error);
      log.warn({ order_id: orderId, reason }, 'workflow not reached; the sweep will');
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
