import { Problem } from '../contracts/problem';
import { backlogAgeMs } from '../db/order-work';
import type { Db } from '../db/pool';
import { FairQueue } from './fair-queue';

const READ_EVERY_MS = 2000;
const RETRY_AFTER_S = 60;

/** Decides when a new order may be inserted. */
export interface Admission {
  /**
   * Runs the insert of a new order when it is its turn. Sellers take turns.
   * @throws Problem `overloaded` while orders wait too long for their workflows
   */
  insert<T>(sellerId: string, work: () => Promise<T>): Promise<T>;
  /** True while inserts wait for their turn. */
  hasQueue(): boolean;
}

/**
 * @param concurrency the maximum number of inserts at the same time: calls about existing orders get the other connections
 * @param maxBacklogAgeMs how long an accepted order may wait for its workflow before further orders are refused
 */
export function createAdmission(
  db: Db,
  { concurrency, maxBacklogAgeMs }: { concurrency: number; maxBacklogAgeMs: number },
): Admission {
  const waiting = new FairQueue<() => void>();
  let running = 0;
  let ageMs = 0;
  const readAge = async (): Promise<void> => {
    ageMs = await backlogAgeMs(db);
  };
  // Without Postgres, no order is inserted anyway.
  setInterval(() => void readAge().catch(() => undefined), READ_EVERY_MS).unref();

  return {
    async insert(sellerId, work) {
      if (ageMs > maxBacklogAgeMs) throw overloaded();
      if (running < concurrency) running += 1;
      else await new Promise<void>((resolve) => waiting.push(sellerId, resolve));
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        // The next one takes the place.
        if (next) next();
        else running -= 1;
      }
    },
    hasQueue: () => waiting.size > 0,
  };
}

function overloaded(): Problem {
  return new Problem(
    'overloaded',
    'Too many new orders wait to be processed. Nothing changed. Repeating the call later is safe.',
    { headers: { 'Retry-After': String(RETRY_AFTER_S) } },
  );
}
