import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { repeatJobs } from '../../concurrency';
import { findEndpointsToTell } from '../../db/endpoint-notices';
import type { Db } from '../../db/pool';
import type { MailAccounts } from '../../mail/mailer';
import { logActions } from '../../db/operator-actions';
import { FROM_THE_START, type OldData, deleteOldData, isBusy, overdueSeconds } from '../../db/old-data';
import { deletedRows, overdueDeletion } from '../../telemetry/metrics';
import { flushLog, reportOperatorAction } from '../../telemetry/report';
import type { OrderWorkflows } from '../../temporal/order-workflow-client';
import { createDailyLook, createLateStarts, createReplacements, createResumes } from './repair-orders';

/** Actions that are logged, or endpoints that are told of, at once. */
const BATCH = 500;
/** Shorter than Postgres waits for an idle transaction. */
const FLUSH_TIMEOUT_MS = 5000;

/** Rows of one statement, which takes some ten milliseconds. */
const DELETED_AT_ONCE = 200;
/** How often rows are looked at again that had to stay, such as an order whose payment was not settled. */
const FROM_THE_START_EVERY_MS = 3_600_000;

/** Times in ms. */
interface BackgroundOptions {
  db: Db;
  workflows: OrderWorkflows;
  log: Logger;
  /** Between two rounds. Searches for closed and stuck runs, and deletions, are made four times less often. */
  intervalMs: number;
  /** How long the API has to start the workflow of a new order. */
  startAfterMs: number;
  oldData: readonly OldData[];
  /** The accounts whose contacts we write to about their webhook endpoints. */
  mails: MailAccounts;
}

/**
 * Runs what no workflow can do for itself: starts, resumes and replaces workflows, logs what operators did, and deletes
 * old data. Each job is a query and some calls, and safe to run in all workers at once.
 * @returns a function that stops the jobs and resolves once they have stopped
 */
export function startBackgroundJobs(options: BackgroundOptions): () => Promise<void> {
  const { db, workflows, log, intervalMs, startAfterMs, oldData, mails } = options;
  const tellSellers = async (): Promise<void> => {
    for (const endpoint of await findEndpointsToTell(db, mails, BATCH)) await workflows.tellSeller(endpoint);
  };
  return repeatJobs(
    [
      [createLateStarts(options, startAfterMs), intervalMs],
      [createResumes(options), 4 * intervalMs],
      [createReplacements(options), 4 * intervalMs],
      [createDailyLook(options), 4 * intervalMs],
      [tellSellers, 4 * intervalMs],
      [() => logOperatorActions(db, log), intervalMs],
      ...oldData.map((kind) => [createDeletion(db, kind), 4 * intervalMs] as const),
    ],
    log,
  );
}

/** Writes what operators did by CLI to a worker's log: a CLI process ends, and its output is not collected. */
function logOperatorActions(db: Db, log: Logger): Promise<void> {
  // A restore needs these lines, also if LOG_LEVEL is higher.
  const always = log.isLevelEnabled('info') || log.level === 'silent' ? log : log.child({}, { level: 'info' });
  return logActions(db, BATCH, async (actions) => {
    for (const action of actions) reportOperatorAction(always, action);
    await flushLog(always, FLUSH_TIMEOUT_MS);
  });
}

/**
 * Creates a function that deletes old data of one kind in small batches, with a pause after each that is as long as the
 * batch took. It ends early if the database is busy, or if `stop` aborts: its next call continues.
 */
export function createDeletion(db: Db, kind: OldData): (stop: AbortSignal) => Promise<void> {
  const labels = { data: kind.name };
  deletedRows.inc(labels, 0);
  let from = FROM_THE_START;
  let begunAt = performance.now();
  return async (signal) => {
    if (performance.now() - begunAt > FROM_THE_START_EVERY_MS) {
      from = FROM_THE_START;
      begunAt = performance.now();
    }
    for (let deleted = DELETED_AT_ONCE; deleted === DELETED_AT_ONCE && !signal.aborted && !(await isBusy(db));) {
      const startedAt = performance.now();
      ({ deleted, next: from } = await deleteOldData(db, kind, DELETED_AT_ONCE, from));
      deletedRows.inc(labels, deleted);
      await delay(performance.now() - startedAt, undefined, { signal }).catch(() => undefined);
    }
    overdueDeletion.set(labels, await overdueSeconds(db, kind, from));
  };
}
