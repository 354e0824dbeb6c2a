import type { Logger } from 'pino';
import { pruneIdempotencyKeys } from '../../db/idempotency-keys';
import { repeatJobs } from '../../concurrency';
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
}

/**
 * Runs what no workflow can do for itself: starts, resumes and replaces workflows, and deletes old data. Each job is a
 * query and some calls, and safe to run in all workers at once.
 * @returns a function that stops the jobs and resolves once they have stopped
 */
export function startBackgroundJobs(options: BackgroundOptions): () => Promise<void> {
  const { db, log, intervalMs, startAfterMs, idempotencyKeyDays } = options;
  return repeatJobs(
    [
      [createOrderStarts(options, startAfterMs), intervalMs],
      [createResumes(options), 4 * intervalMs],
      [createReplacements(options), 4 * intervalMs],
      [() => pruneIdempotencyKeys(db, idempotencyKeyDays, BATCH), 4 * intervalMs],
      [() => deleteExpiredSecrets(db), 4 * intervalMs],
    ],
    log,
  );
}
