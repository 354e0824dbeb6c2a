import { BulkheadRejectedError, bulkhead } from 'cockatiel';
import type { Logger } from 'pino';
import { markRunning } from '../db/sweep';
import type { Db } from '../db/pool';
import type { OrderHistory } from '../domain/order';
import type { OrderWorkflows } from '../temporal/order-workflows';

/** How many starts may wait behind those in flight; what goes beyond is the sweep's. */
const QUEUE = 500;

/** Starts the workflows of new orders behind the answer; what it cannot start, the sweep does. */
export interface Starter {
  start(history: OrderHistory): void;
  /** Resolves when the starts in flight have ended; those still waiting are left to the sweep. */
  drain(): Promise<void>;
}

/** @param checkAfterMs until the sweep looks whether a started workflow still runs */
export function createStarter(
  { db, workflows, log }: { db: Db; workflows: OrderWorkflows; log: Logger },
  { inFlight, checkAfterMs }: { inFlight: number; checkAfterMs: number },
): Starter {
  const limit = bulkhead(inFlight, QUEUE);
  const running = new Set<Promise<void>>();
  let draining = false;

  async function start(history: OrderHistory): Promise<void> {
    const orderId = history.order.id;
    try {
      await limit.execute(async () => {
        if (draining) return;
        await workflows.start(history);
        await markRunning(db, orderId, checkAfterMs);
      });
    } catch (error) {
      const reason = error instanceof BulkheadRejectedError ? 'too many starts are waiting' : String(error);
      log.warn({ order_id: orderId, reason }, 'workflow not started; the sweep will');
    }
  }

  return {
    start(history) {
      const started = start(history).finally(() => running.delete(started));
      running.add(started);
    },
    async drain() {
      draining = true;
      await Promise.all(running);
    },
  };
}
