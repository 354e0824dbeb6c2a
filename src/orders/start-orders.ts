import { AsyncLocalStorage } from 'node:async_hooks';
import type { Logger } from 'pino';
import type { Db } from '../db/pool';
import { deleteStartRequests } from '../db/start-requests';
import type { Order } from '../domain/order';
import type { OrderWorkflows } from '../temporal/order-workflows';

/** Starts that run at the same time. More of them would only lengthen the queues of the Temporal server. */
const IN_FLIGHT = 8;
/** Beyond this, orders are left to the workers: see `createLateStarts`. */
const MAX_WAITING = 1000;
/** While more starts wait, the workflows begin at random times, and other calls stay fast. */
const BURST = 50;
/** A message to the workflow ends the delay at once, except for a plain signal. */
const LONGEST_DELAY_MS = 10 * 60_000;

/** How long a workflow waits for a first message before it runs, in ms. @param waiting starts that wait too */
export const startDelayMs = (waiting: number): number => (waiting > BURST ? Math.random() * LONGEST_DELAY_MS : 0);

/** Starts the workflows of new orders after their callers have the answer. Sellers take turns. */
export interface OrderStarter {
  start(order: Order): void;
  /** Resolves when the calls in flight have ended. Workers start the orders that still wait. */
  drain(): Promise<void>;
}

export function createOrderStarter({
  db,
  workflows,
  log,
}: {
  db: Db;
  workflows: Pick<OrderWorkflows, 'start'>;
  log: Logger;
}): OrderStarter {
  const waiting = new FairQueue<() => Promise<void>>();
  const running = new Set<Promise<void>>();
  let isDraining = false;

  async function startNow(order: Order): Promise<void> {
    const { id } = order;
    try {
      await workflows.start(order, startDelayMs(waiting.size));
      await deleteStartRequests(db, [id]);
    } catch (error) {
      log.debug({ order_id: id, err: error }, 'workflow not started: a worker will start it');
    }
  }

  function startNext(): void {
    while (!isDraining && running.size < IN_FLIGHT) {
      const next = waiting.shift();
      if (!next) return;
      const done = next().finally(() => {
        running.delete(done);
        startNext();
      });
      running.add(done);
    }
  }

  return {
    start(order) {
      if (isDraining || waiting.size >= MAX_WAITING) return;
      // The workflow belongs to the trace of the request that created it.
      const inRequest = AsyncLocalStorage.snapshot();
      waiting.push(order.sellerId, () => inRequest(() => startNow(order)));
      startNext();
    },
    async drain() {
      isDraining = true;
      await Promise.all(running);
    },
  };
}

/** A queue in which the owners of items take turns, so that one with many items does not hold up the others. */
export class FairQueue<T, Owner = string> {
  private readonly owners = new Map<Owner, T[]>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  push(owner: Owner, item: T): void {
    const items = this.owners.get(owner);
    if (items) items.push(item);
    else this.owners.set(owner, [item]);
    this.count += 1;
  }

  /** Removes the first item of the owner whose turn it is. */
  shift(): T | undefined {
    const [first] = this.owners;
    if (!first) return undefined;
    const [owner, items] = first;
    const item = items.shift();
    this.count -= 1;
    this.owners.delete(owner);
    // To the end of the queue.
    if (items.length > 0) this.owners.set(owner, items);
    return item;
  }
}
