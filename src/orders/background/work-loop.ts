import { setTimeout as delay } from 'node:timers/promises';

/** Free slots are filled together: one at a time would cost a statement each. */
const REFILL_MS = 50;

/** One kind of due work. Its loop has orders of its own in progress, so that no kind holds up another. */
interface WorkLoopOptions<T> {
  /** How many orders may be in progress. */
  capacity: () => number;
  /** Takes at most `limit` orders. */
  lease: (limit: number) => Promise<T[]>;
  /** Never rejects. */
  work: (due: T) => Promise<void>;
  /** Reports a failed lease, which is repeated. */
  onError: (error: unknown) => void;
  intervalMs: number;
}

/** Works on due orders until `signal` aborts. A slow order occupies one slot, and the others continue. */
export async function runWorkLoop<T>(options: WorkLoopOptions<T>, signal: AbortSignal): Promise<void> {
  const { capacity, lease, work, onError, intervalMs } = options;
  const running = new Set<Promise<void>>();
  const pause = (ms: number): Promise<void> => delay(ms, undefined, { signal }).catch(() => undefined);
  while (!signal.aborted) {
    const free = capacity() - running.size;
    const due = free > 0 ? await lease(free).catch(onError) : undefined;
    for (const one of due ?? []) {
      const done = work(one).finally(() => running.delete(done));
      running.add(done);
    }
    const isMoreDue = free <= 0 || due?.length === free;
    if (!isMoreDue) await pause(intervalMs);
    else await Promise.race([...running].map((done) => done.then(() => pause(REFILL_MS))));
  }
  await Promise.all(running);
}
