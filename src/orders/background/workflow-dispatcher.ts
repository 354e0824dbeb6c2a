import { BulkheadRejectedError, bulkhead } from 'cockatiel';
import type { Logger } from 'pino';
import { markRunning } from '../../db/order-work';
import type { Db } from '../../db/pool';
import type { Order, OrderHistory } from '../../domain/order';
import type { OrderWorkflows } from '../../temporal/order-workflows';

/** Calls that wait for a free slot. Calls beyond that are left to the sweep. */
const MAX_WAITING = 500;

/** How long the dispatcher has to tell a workflow before the sweep does so. */
export const SWEEP_AFTER_MS = 10_000;

/** Starts and signals workflows after the caller has been answered. The sweep takes over what fails. */
export interface WorkflowDispatcher {
  /** Starts the workflow of a new order. */
  start(history: OrderHistory): void;
  /** Tells a workflow that it has webhooks to resend. */
  resendWebhooks(order: Order): void;
  /** Tells a workflow that it has to ask the lender for a decision. */
  applicationSubmitted(order: Order): void;
  /** Resolves when the calls in flight have ended. Calls that still wait are left to the sweep. */
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
      log.warn({ order_id: orderId, reason }, 'the workflow was not reached: the sweep will retry');
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
