import type { Logger } from 'pino';
import { repeatJobs } from '../../concurrency';
import { findEndpointsToTell } from '../../db/endpoint-notices';
import type { Db } from '../../db/pool';
import type { MailAccounts } from '../../mail/mailer';
import { logActions } from '../../db/operator-actions';
import type { OldData } from '../../db/old-data';
import { flushLog, reportOperatorAction } from '../../telemetry/report';
import type { OrderWorkflows } from '../../temporal/order-workflow-client';
import { createDeletion } from './delete-old-data';
import { createDailyLook, createLateStarts, createReplacements, createResumes } from './repair-orders';

/** Actions that are logged, or endpoints that are told of, at once. */
const BATCH = 500;
/** Shorter than Postgres waits for an idle transaction. */
const FLUSH_TIMEOUT_MS = 5000;

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
