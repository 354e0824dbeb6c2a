import { bulkhead } from 'cockatiel';
import { Problem } from '../contracts/problem';
import { backlogAgeMs } from '../db/order-work';
import type { Db } from '../db/pool';

const READ_EVERY_MS = 2000;
const RETRY_AFTER_S = 60;

/** Decides when a new order may be inserted. */
export interface Admission {
  /**
   * Runs the insert of a new order when it is its turn.
   * @throws Problem `overloaded` while orders wait too long for their workflows
   */
  insert<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * @param concurrency the maximum number of inserts at the same time: calls about existing orders get the other connections
 * @param maxBacklogAgeMs how long an accepted order may wait for its workflow before further orders are refused
 */
export function createAdmission(
  db: Db,
  { concurrency, maxBacklogAgeMs }: { concurrency: number; maxBacklogAgeMs: number },
): Admission {
  const limit = bulkhead(concurrency, Infinity);
  let ageMs = 0;
  const readAge = async (): Promise<void> => {
    ageMs = await backlogAgeMs(db);
  };
  // Without Postgres, no order is inserted anyway.
  setInterval(() => void readAge().catch(() => undefined), READ_EVERY_MS).unref();

  return {
    async insert(work) {
      if (ageMs > maxBacklogAgeMs) throw overloaded();
      return limit.execute(work);
    },
  };
}

function overloaded(): Problem {
  return new Problem(
    'overloaded',
    'Too many new orders wait to be processed. Nothing changed. Repeating the call later is safe.',
    { headers: { 'Retry-After': String(RETRY_AFTER_S) } },
  );
}
