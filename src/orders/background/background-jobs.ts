import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { purgeApplicantData } from '../../checkout/db/applications';
import { pruneIdempotencyKeys } from '../../db/idempotency-keys';
import { findUnfinishedCheckouts } from '../../checkout/db/payments';
import type { Db } from '../../db/pool';
import { deleteExpiredSecrets } from '../../db/secrets';
import type { OrderWorkflows } from '../../temporal/order-workflows';
import { createOrderStarts, createReplacements, createResumes } from './repair-orders';

/** Rows that one statement changes. */
const BATCH = 500;

/** Times in ms. */
interface BackgroundOptions {
  db: Db;
  workflows: OrderWorkflows;
  log: Logger;
  /** Between two rounds. Searches for closed and stuck runs, and deletions, are made four times less often. */
  intervalMs: number;
  /** How long the API has to start the workflow of a new order. */
  startAfterMs: number;
  idempotencyKeyDays: number;
  /** How long after its order has closed an application's personal data is kept. */
  applicationRetentionMs: number;
}

/**
 * Runs what no workflow can do for itself: starts, resumes and replaces workflows, and deletes old data. Each job is a
 * query and some calls, and safe to run in all workers at once.
 * @returns a function that stops the jobs and resolves once they have stopped
 */
export function startBackgroundJobs(options: BackgroundOptions): () => Promise<void> {
  const { db, workflows, log, intervalMs, startAfterMs, idempotencyKeyDays, applicationRetentionMs } = options;
  const stopping = new AbortController();
  const { signal } = stopping;

  /** Runs `job` again and again. A job that fails is repeated in the next round. */
  async function repeat(job: () => Promise<unknown>, everyMs: number): Promise<void> {
    while (!signal.aborted) {
      await job().catch((error: unknown) => log.warn({ err: error }, 'a background job failed, retrying later'));
      await delay(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async function startCheckouts(): Promise<void> {
    for (const order of await findUnfinishedCheckouts(db, BATCH)) await workflows.startCheckout(order);
  }

  const running = Promise.all([
    repeat(createOrderStarts(options, startAfterMs), intervalMs),
    repeat(createResumes(options), 4 * intervalMs),
    repeat(createReplacements(options), 4 * intervalMs),
    repeat(startCheckouts, 4 * intervalMs),
    repeat(() => pruneIdempotencyKeys(db, idempotencyKeyDays, BATCH), 4 * intervalMs),
    repeat(() => deleteExpiredSecrets(db), 4 * intervalMs),
    repeat(() => purgeApplicantData(db, applicationRetentionMs, BATCH), 4 * intervalMs),
  ]);
  return async () => {
    stopping.abort();
    await running;
  };
}
