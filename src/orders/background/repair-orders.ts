import type { Logger } from 'pino';
import { findOrder, findOrdersById, findWaitingOrders, isLeftToDo } from '../../db/find-orders';
import type { Db } from '../../db/pool';
import { deleteStartRequests, markRowBehind } from '../../db/save-order';
import { isFinal } from '../../domain/order';
import { replacedRuns, stuckRuns } from '../../telemetry/metrics';
import type { OrderWorkflows } from '../../temporal/order-workflow-client';
import { startDelayMs } from '../start-orders';

/** Late orders that are read at once. */
const BATCH = 200;
/** Orders that a round handles at the same time. */
const AT_ONCE = 4;
/** How far back a round looks for closed runs: longer than workers are down for a deployment. */
const LOOK_BACK_MS = 86_400_000;
/** A run is listed some time after it has closed, and clocks differ. */
const OVERLAP_MS = 5 * 60_000;
/** For one call about one order. */
const TIMEOUT_MS = 5000;

interface Dependencies {
  db: Db;
  workflows: OrderWorkflows;
  log: Logger;
}

/**
 * Creates a function that starts the workflows of orders that have waited for longer than `ageMs`: the API could not
 * start them.
 */
export function createLateStarts({ db, workflows }: Dependencies, ageMs: number): (stop: AbortSignal) => Promise<void> {
  return async (stop) => {
    for (let found = BATCH; found === BATCH && !stop.aborted;) {
      const orders = await findOrdersById(db, await findWaitingOrders(db, ageMs, BATCH));
      found = orders.length;
      const started: string[] = [];
      await forEach(orders.values(), async (stored) => {
        await workflows.start(stored, startDelayMs(orders.length));
        started.push(stored.id);
      }).finally(() => deleteStartRequests(db, started));
    }
  };
}

/**
 * Creates a function that resumes, from their rows, orders whose run was terminated, failed or timed out while
 * something is left to do. A reset terminates a run too: the run that follows it may lack changes. A row of a restored
 * backup, which lacks changes of the run, waits for `reconcile`.
 */
export function createResumes({ db, workflows, log }: Dependencies): () => Promise<void> {
  let since = Date.now() - LOOK_BACK_MS;
  return async () => {
    const startedAt = Date.now();
    await forEach(workflows.findClosedByForce(new Date(since)), async ({ orderId }) => {
      const order = (await isLeftToDo(db, orderId)) ? await findOrder(db, orderId) : undefined;
      if (!order) return;
      const run = await workflows.describe(order.id, TIMEOUT_MS);
      if (run?.isRunning) {
        const saved = await workflows.query(order.id, TIMEOUT_MS);
        // One that has not read the row yet will. The cancel of a closed order is in the row alone.
        if (!saved || saved.version >= order.version || isFinal(saved.status)) return;
        await workflows.terminate(order.id, run.runId, 'it lacks changes of the row');
      } else if (run) {
        const saved = await workflows.query(order.id, TIMEOUT_MS).catch((error: unknown) => {
          // One whose tasks fail cannot be asked.
          if (run.hasCompleted) throw error;
        });
        if (saved && (await markRowBehind(db, order.id, saved.version))) {
          log.error({ order_id: order.id }, 'the row lacks changes of a closed run: run reconcile');
          return;
        }
      }
      await workflows.resume(order);
      replacedRuns.inc({ reason: 'closed' });
      log.warn({ order_id: order.id }, 'a run of an open order was closed by force: resumed from the row');
    });
    // A round in which an order fails is repeated from the same time.
    since = startedAt - OVERLAP_MS;
  };
}

/** Creates a function that replaces runs whose workflow tasks fail again and again, each at most once an hour. */
export function createReplacements({ db, workflows, log }: Dependencies): () => Promise<void> {
  return async () => {
    let stuck = 0;
    await forEach(workflows.findStuck(), async ({ orderId, runId }) => {
      stuck += 1;
      const order = await findOrder(db, orderId);
      // An operator runs `reconcile`, which needs the changes of this run.
      if (order?.behindVersion !== null) return;
      if (await workflows.wasJustTerminated(order.id)) return;
      log.error({ order_id: order.id, run_id: runId }, 'the workflow tasks of a run keep failing: replacing it');
      await workflows.terminate(order.id, runId, 'its workflow tasks keep failing');
      await workflows.resume(order);
      replacedRuns.inc({ reason: 'stuck' });
    });
    // Not after a list that has ended early, which would end an alert.
    stuckRuns.set(stuck);
  };
}

/** Handles some items at the same time. @throws the first error, after all have been tried */
async function forEach<T>(items: Iterator<T> | AsyncIterator<T>, handle: (item: T) => Promise<void>): Promise<void> {
  const errors: unknown[] = [];
  const work = async (): Promise<void> => {
    for (let next = await items.next(); next.done !== true; next = await items.next())
      await handle(next.value).catch((error: unknown) => errors.push(error));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (errors.length > 0) throw errors[0];
}
