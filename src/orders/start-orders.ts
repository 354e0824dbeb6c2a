import { Semaphore } from 'async-mutex';
import type { Logger } from 'pino';
import type { Db } from '../db/pool';
import { deleteStartRequests } from '../db/orders';
import type { Order } from '../domain/order';
import type { OrderWorkflows } from '../temporal/order-workflow-client';

/** Starts that run at the same time. More of them are no faster in all, and delay changes. */
const IN_FLIGHT = 4;
/** Beyond this, orders are left to the workers: see `createLateStarts`. */
const MAX_WAITING = 1000;
/** While more starts wait, the workflows begin at random times, and other calls stay fast. */
const BURST = 50;
/** A message to the workflow ends the delay at once, except for a plain signal. */
const LONGEST_DELAY_MS = 10 * 60_000;

/** How long a workflow waits for a first message before it runs, in ms. @param waiting starts that wait too */
export const startDelayMs = (waiting: number): number => (waiting > BURST ? Math.random() * LONGEST_DELAY_MS : 0);

export type OrderStarter = ReturnType<typeof createOrderStarter>;

/** Starts the workflows of new orders after their callers have the answer. A first message starts one too. */
export function createOrderStarter(db: Db, workflows: Pick<OrderWorkflows, 'start'>, log: Logger) {
  const slots = new Semaphore(IN_FLIGHT);
  let waiting = 0;
  let isDraining = false;

  async function startNow(order: Order): Promise<void> {
    waiting -= 1;
    if (isDraining) return;
    const { id } = order;
    try {
      await workflows.start(order, startDelayMs(waiting));
      await deleteStartRequests(db, [id]);
    } catch (error) {
      log.debug({ order_id: id, err: error }, 'workflow not started: a worker will start it');
    }
  }

  return {
    start(order: Order): void {
      if (isDraining || waiting >= MAX_WAITING) return;
      waiting += 1;
      void slots.runExclusive(() => startNow(order));
    },

    /** Resolves when the calls in flight have ended. Workers start the orders that still wait. */
    async drain(): Promise<void> {
      isDraining = true;
      await slots.acquire(IN_FLIGHT);
    },
  };
}
