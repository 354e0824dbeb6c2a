import type { Logger } from 'pino';
import { logActions } from '../../db/operator-actions';
import type { Db } from '../../db/pool';
import { flushLog, reportOperatorAction } from '../../telemetry/report';

const INTERVAL_MS = 5000;
const BATCH = 100;
/** Shorter than Postgres waits for an idle transaction. */
const FLUSH_TIMEOUT_MS = 5000;

/**
 * Writes what operators did by CLI to a worker's log: a CLI process ends, and its output is not collected.
 * @returns a function that stops it
 */
export function logOperatorActions(db: Db, log: Logger): () => Promise<void> {
  let running = Promise.resolve();
  const run = async (): Promise<void> => {
    try {
      await logActions(db, BATCH, async (actions) => {
        for (const action of actions) reportOperatorAction(log, action);
        // A restore needs these lines.
        await flushLog(log, FLUSH_TIMEOUT_MS);
      });
    } catch (error) {
      log.debug({ err: error }, 'actions of operators not read, retrying later');
    }
  };
  const timer = setInterval(() => {
    running = running.then(run);
  }, INTERVAL_MS);
  return async () => {
    clearInterval(timer);
    await running;
  };
}
