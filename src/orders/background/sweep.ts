import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type DueKind, leaseDueOrders } from '../../db/due-orders';
import { createNewOrderStarts } from './new-order-starts';
import { createOrderCheck } from './order-check';
import { type PeriodicJobOptions, createPeriodicJobs } from './periodic-jobs';
import { runWorkLoop } from './work-loop';

/** Orders of one kind that a worker checks at the same time. */
const CONCURRENCY = 20;
/** Intervals, about a minute, between two rounds of periodic jobs. */
const INTERVALS_PER_ROUND = 12;
/** If a sweep process dies, its orders are due again after this time. */
const LEASE_MS = 30_000;

/** Times in ms. */
interface SweepOptions extends PeriodicJobOptions {
  log: Logger;
  intervalMs: number;
  checkAfterMs: number;
  /** The maximum number of new orders that are started at the same time. */
  startsInFlight: number;
  /** How long a new order's workflow waits for a first message. */
  startDelayMs: number;
}

/**
 * Does what is left to do for orders: starts their workflows, passes on requests, and compares rows with runs, which it
 * resumes, replaces, or has save again. Also runs the periodic jobs. docs/architecture.md, "The sweep", has the
 * details.
 * @returns a function that stops the sweep and resolves once it has stopped
 */
export function startSweep(options: SweepOptions): () => Promise<void> {
  const { db, workflows, log, intervalMs, checkAfterMs, startsInFlight, startDelayMs } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const isStopping = (): boolean => signal.aborted;
  const starts = createNewOrderStarts(workflows, startsInFlight, startDelayMs);
  const check = createOrderCheck({ db, workflows, starts, log, checkAfterMs });
  const jobs = createPeriodicJobs(options, signal);

  function onError(error: unknown): void {
    log.warn({ err: error }, 'sweep: failed, retrying later');
  }

  /** A job that fails holds up none of the others. */
  async function runJobs(): Promise<void> {
    while (!isStopping()) {
      for (const job of jobs) if (!isStopping()) await job().catch(onError);
      await delay(intervalMs * INTERVALS_PER_ROUND, undefined, { signal }).catch(() => undefined);
    }
  }

  const runLoop = (kind: DueKind, capacity: () => number): Promise<void> =>
    runWorkLoop(
      { capacity, lease: (limit) => leaseDueOrders(db, kind, limit, LEASE_MS), work: check, onError, intervalMs },
      signal,
    );
  const running = Promise.all([
    runLoop('requests', () => CONCURRENCY),
    // The API left these orders because it was overloaded, so the sweep limits its starts too.
    runLoop('starts', () => starts.limit),
    runLoop('checks', () => CONCURRENCY),
    runJobs(),
  ]);
  return async () => {
    stopping.abort();
    await running;
  };
}
