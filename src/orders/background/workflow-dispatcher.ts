import { BulkheadRejectedError, bulkhead } from 'cockatiel';
import type { Logger } from 'pino';
import { countRequests, markRunning, sweepNow } from '../../db/order-work';
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
  /** Makes the sweep check an order whose workflow and row do not match. */
  check(orderId: string): void;
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
        if (!draining) await call();
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

  /** @param passedOn the requests in Postgres that `call` passes on. The sweep passes on those that come later. */
  async function notify(orderId: string, passedOn: number, call: () => Promise<void>): Promise<void> {
    await call();
    await markRunning(db, orderId, checkAfterMs, passedOn);
  }

  function passOn({ id }: Order, call: () => Promise<void>): void {
    inBackground(id, async () => notify(id, await countRequests(db, id), call));
  }

  return {
    start: (history) =>
      inBackground(history.order.id, () => notify(history.order.id, 0, () => workflows.start(history))),
    resendWebhooks: (order) => passOn(order, () => workflows.resendWebhooks(order)),
    applicationSubmitted: (order) => passOn(order, () => workflows.applicationSubmitted(order)),
    check: (orderId) => inBackground(orderId, () => sweepNow(db, [orderId])),
    async drain() {
      draining = true;
      await Promise.all(running);
    },
  };
}
