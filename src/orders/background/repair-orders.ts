import type { Logger } from 'pino';
import { FIRST_ID, findLeftToDo, findWaitingOrders } from '../../db/list-orders';
import { findOrder, isLeftToDo, deleteStartRequests, markRowBehind } from '../../db/orders';
import type { Db } from '../../db/pool';
import { replacedRuns, stuckRuns } from '../../telemetry/metrics';
import type { OrderWorkflows } from '../../temporal/order-workflow-client';
import { startDelayMs } from '../start-orders';

/** Orders that are read at once. */
const BATCH = 200;
/** Orders that a round handles at the same time. */
const AT_ONCE = 4;
/** How far back a round looks for closed runs: longer than workers are down for a deployment. */
const LOOK_BACK_MS = 86_400_000;
/** A run is listed some time after it has closed, and Temporal's machines differ. */
const OVERLAP_MS = 5 * 60_000;
const DAY_MS = 86_400_000;
/** For one call about one order. A query waits 5 s for the worker that had the workflow, before another one gets it. */
const TIMEOUT_MS = 10_000;

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
      const orders = await findWaitingOrders(db, ageMs, BATCH);
      if (orders.length === 0) return;
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
 * something is left to do. A reset terminates a run too: the run that follows it may lack changes.
 */
export function createResumes(deps: Dependencies): () => Promise<void> {
  const { db, workflows } = deps;
  let since: number | undefined;
  return async () => {
    const startedAt = await workflows.readServerTime();
    // The worker of this process does not poll yet.
    if (startedAt === undefined) return;
    const undecided: string[] = [];
    await forEach(workflows.findClosedByForce(new Date(since ?? startedAt - LOOK_BACK_MS)), async ({ orderId }) => {
      if ((await isLeftToDo(db, orderId)) && !(await repairOrder(deps, orderId, 'closed'))) undecided.push(orderId);
    });
    // A round in which an order fails, or cannot be judged yet, is repeated from the same time.
    if (undecided.length === 0) since = startedAt - OVERLAP_MS;
  };
}

/**
 * Creates a function that looks at each open order and at each open run once a day: the workflow of an order may have been
 * deleted in Temporal, and a reset of a completed run leaves an open one.
 */
export function createDailyLook(deps: Dependencies): (stop: AbortSignal) => Promise<void> {
  const { db, workflows, log } = deps;
  let lookedAt = -Infinity;
  /** Those that failed, or cannot be judged yet: the next round looks at them again. */
  let undecided: string[] = [];

  const repair = (ids: string[]) =>
    forEach(ids.values(), async (id) => {
      const isDone = await repairOrder(deps, id, 'missing').catch((error: unknown) => {
        log.warn({ err: error, order_id: id }, 'an order was not repaired');
        return false;
      });
      if (!isDone) undecided.push(id);
    });

  return async (stop) => {
    const again = undecided;
    undecided = [];
    await repair(again);
    if (performance.now() - lookedAt < DAY_MS) return;
    for (let after: string | undefined = FIRST_ID; after !== undefined && !stop.aborted;) {
      const left: string[] = await findLeftToDo(db, after, BATCH);
      after = left.at(-1);
      const running = await workflows.findOpenAmong(left);
      await repair(left.filter((id) => !running.has(id)));
    }
    for await (const { orderId } of workflows.listOpen({})) {
      if (stop.aborted) return;
      if (!(await isLeftToDo(db, orderId))) await repair([orderId]);
    }
    lookedAt = performance.now();
  };
}

/**
 * Gives an order a run that reads the row, if something is left to do and no run does it. Terminates a run that lacks
 * changes of the row. A row of a restored backup, which lacks changes of the run, waits for `reconcile`.
 * @returns false if that cannot be judged yet
 */
async function repairOrder(
  { db, workflows, log }: Dependencies,
  orderId: string,
  reason: 'closed' | 'missing',
): Promise<boolean> {
  const order = await findOrder(db, orderId);
  if (!order || order.behindVersion !== null) return true;
  const run = await workflows.describe(order.id, TIMEOUT_MS);
  if (run?.isRunning) {
    const saved = await workflows.query(order.id, TIMEOUT_MS);
    // One that has not read the row yet will.
    if (!saved || saved.version >= order.version) return true;
    // Between a save's commit and the end of its activity, a healthy run lacks the change too.
    if (run.isSaving) return false;
    await workflows.terminate(order.id, run.runId, 'it lacks changes of the row');
  }
  // Another loop starts one that was never started.
  if (!(run ?? order.started) || !(await isLeftToDo(db, order.id))) return true;
  if (run && !run.isRunning) {
    const saved = await workflows.query(order.id, TIMEOUT_MS).catch((error: unknown) => {
      // One whose tasks fail cannot be asked.
      if (run.hasCompleted) throw error;
    });
    if (saved && (await markRowBehind(db, order.id, saved.version))) {
      log.error({ order_id: order.id }, 'the row lacks changes of a closed run: run reconcile');
      return true;
    }
  }
  if (await workflows.resume(order)) {
    replacedRuns.inc({ reason });
    log.warn({ order_id: order.id, reason }, 'an order had no run that could go on: resumed from the row');
  }
  return true;
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
      if (await workflows.resume(order)) replacedRuns.inc({ reason: 'stuck' });
    });
    // Not after a list that has ended early, which would end an alert.
    stuckRuns.set(stuck);
  };
}

/** Handles some items at the same time. @throws the first error, after all have been tried */
async function forEach<T>(items: Iterator<T> | AsyncIterator<T>, handle: (item: T) => Promise<unknown>): Promise<void> {
  const errors: unknown[] = [];
  const work = async (): Promise<void> => {
    for (let next = await items.next(); next.done !== true; next = await items.next())
      await handle(next.value).catch((error: unknown) => errors.push(error));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (errors.length > 0) throw errors[0];
}
