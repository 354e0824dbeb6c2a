import { Problem } from '../contracts/problem';
import { sellersWithBacklog } from '../db/due-orders';
import type { Db } from '../db/pool';
import { FairQueue } from '../concurrency/fair-queue';

const READ_EVERY_MS = 2000;
const RETRY_AFTER_BACKLOG_S = 60;
/** An insert that has waited this long is refused: its caller may be gone, and further ones wait behind it. */
const MAX_WAIT_MS = 10_000;
const RETRY_AFTER_QUEUE_S = 5;

interface WaitingInsert {
  start: () => void;
  /** True if the insert was refused because it waited too long. */
  hasTimedOut: boolean;
}

/** Decides when a new order may be inserted. */
export interface Admission {
  /**
   * Runs the insert of a new order when it is its turn. Sellers take turns.
   * @throws Problem `overloaded` if its turn does not come in time, or while the seller's orders wait too long for
   * their workflows
   */
  insert<T>(sellerId: string, work: () => Promise<T>): Promise<T>;
  /** True while inserts wait for their turn. */
  hasQueue(): boolean;
}

/**
 * @param concurrency the maximum number of inserts at the same time: calls about existing orders get the other
 * connections
 * @param maxBacklogAgeMs how long an accepted order may wait for its workflow before further orders of its seller are
 * refused
 */
export function createAdmission(
  db: Db,
  { concurrency, maxBacklogAgeMs }: { concurrency: number; maxBacklogAgeMs: number },
): Admission {
  const waiting = new FairQueue<WaitingInsert>();
  let running = 0;
  let withBacklog: readonly string[] = [];
  const readBacklog = async (): Promise<void> => {
    withBacklog = await sellersWithBacklog(db, maxBacklogAgeMs);
  };
  // Without Postgres, no order is inserted anyway.
  setInterval(() => void readBacklog().catch(() => undefined), READ_EVERY_MS).unref();

  async function acquireSlot(sellerId: string): Promise<void> {
    if (running < concurrency) {
      running += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const insert: WaitingInsert = {
        hasTimedOut: false,
        start() {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        insert.hasTimedOut = true;
        reject(overloaded(RETRY_AFTER_QUEUE_S));
      }, MAX_WAIT_MS);
      waiting.push(sellerId, insert);
    });
  }

  /** The next insert takes the slot of one that has ended. */
  function releaseSlot(): void {
    let next = waiting.shift();
    while (next?.hasTimedOut) next = waiting.shift();
    if (next) next.start();
    else running -= 1;
  }

  return {
    async insert(sellerId, work) {
      if (withBacklog.includes(sellerId)) throw overloaded(RETRY_AFTER_BACKLOG_S);
      await acquireSlot(sellerId);
      try {
        return await work();
      } finally {
        releaseSlot();
      }
    },
    hasQueue: () => waiting.size > 0,
  };
}

function overloaded(retryAfterS: number): Problem {
  return new Problem(
    'overloaded',
    'Too many new orders wait to be processed. Nothing changed. Repeating the call later is safe.',
    { retryAfterS },
  );
}
