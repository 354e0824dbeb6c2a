import { AsyncLocalStorage } from 'node:async_hooks';
import { bulkhead } from 'cockatiel';
import type { Logger } from 'pino';
import { type RequestKind, lastRequestToConfirm, makeDue, markRunning } from '../../db/order-work';
import type { Db } from '../../db/pool';
import type { Order, OrderHistory } from '../../domain/order';
import type { OrderWorkflows } from '../../temporal/order-workflows';
import type { Admission } from '../admission';
import { FairQueue } from '../fair-queue';
import { createNewOrderStarts } from './new-order-starts';
import { createPostponedLog } from './postponed-log';

/**
 * The maximum number of calls that wait for a free slot: someone waits for their result. The sweep makes all further
 * calls.
 */
const MAX_WAITING_CALLS = 500;
/** The same for starts of new orders, of which each needs about 2 KB: a burst that is started before the sweep looks at it. */
const MAX_WAITING_STARTS = 5000;

/** The time that the dispatcher has to notify a workflow before the sweep does. */
export const SWEEP_AFTER_MS = 10_000;

/** Starts and signals workflows in the background. The sweep retries calls that fail. */
export interface WorkflowDispatcher {
  /** Starts the workflow of a new order. */
  start(history: OrderHistory): void;
  /** Notifies a workflow that it has webhooks to resend. */
  resendWebhooks(order: Order): void;
  /** Notifies a workflow that it has to ask the lender for its decision, or the bank for the result of a payment. */
  requestDecision(order: Order): void;
  /** Makes the sweep check an order whose workflow and row do not match. */
  check(orderId: string): void;
  /** Resolves when the calls in flight have ended. The sweep makes the calls that still wait. */
  drain(): Promise<void>;
}

/** Times in ms. */
export interface DispatcherOptions {
  /** The maximum number of concurrent calls that someone waits for, and of concurrent starts of new orders. */
  inFlight: number;
  /** Until the sweep checks whether a started workflow still runs. */
  checkAfterMs: number;
  /** Until the sweep starts the workflow of a new order. */
  sweepStartAfterMs: number;
  /** How long a new order's workflow waits for a first message. */
  startDelayMs: number;
}

interface WaitingStart {
  history: OrderHistory;
  since: number;
  /** Runs a function as part of the create, so that the workflow belongs to its trace. */
  inRequest: <T>(work: () => T) => T;
}

interface DispatcherDependencies {
  db: Db;
  workflows: OrderWorkflows;
  admission: Pick<Admission, 'hasQueue'>;
  log: Logger;
}

/**
 * New orders wait in a queue of their own, in which sellers take turns: calls that someone waits for overtake them. While
 * inserts queue, only one start runs at a time, so that the machine serves the callers that wait.
 */
export function createWorkflowDispatcher(
  { db, workflows, admission, log }: DispatcherDependencies,
  { inFlight, checkAfterMs, sweepStartAfterMs, startDelayMs }: DispatcherOptions,
): WorkflowDispatcher {
  const interactive = bulkhead(inFlight, MAX_WAITING_CALLS);
  const starts = createNewOrderStarts(workflows, inFlight, startDelayMs);
  const waiting = new FairQueue<WaitingStart>();
  const logPostponed = createPostponedLog(log, 'workflows could not be started or notified: the sweep will retry');
  const running = new Set<Promise<void>>();
  let starting = 0;
  let draining = false;

  function track(orderId: string, call: Promise<void>): Promise<void> {
    const done = call.catch((error: unknown) => logPostponed(orderId, error)).finally(() => running.delete(done));
    running.add(done);
    return done;
  }

  function inBackground(orderId: string, call: () => Promise<void>): void {
    const work = async (): Promise<void> => {
      if (!draining) await call();
    };
    void track(orderId, interactive.execute(work));
  }

  function notify({ id }: Order, kind: RequestKind, call: () => Promise<void>): void {
    inBackground(id, async () => {
      // Those that come later are passed on by the sweep.
      const passedOn = await lastRequestToConfirm(db, id, kind);
      await call();
      // A signal does not show that the workflow has the last save.
      await markRunning(db, id, checkAfterMs, { version: null, passedOn });
    });
  }

  async function start(history: OrderHistory): Promise<void> {
    await starts.start(history);
    const { id, version } = history.order;
    await markRunning(db, id, checkAfterMs, { version, passedOn: 0 });
  }

  function startNext(): void {
    while (!draining && starting < (admission.hasQueue() ? 1 : starts.limit)) {
      const next = waiting.shift();
      if (!next) return;
      const { id } = next.history.order;
      // The sweep is about to start it. A start that both make costs twice.
      if (performance.now() - next.since > sweepStartAfterMs / 2) {
        logPostponed(id, 'it waited too long');
        continue;
      }
      starting += 1;
      void track(
        id,
        next.inRequest(() => start(next.history)),
      ).finally(() => {
        starting -= 1;
        startNext();
      });
    }
  }

  return {
    start(history) {
      const { id, sellerId } = history.order;
      if (draining) return;
      if (waiting.size >= MAX_WAITING_STARTS) {
        logPostponed(id, 'too many starts are waiting');
        return;
      }
      waiting.push(sellerId, { history, since: performance.now(), inRequest: AsyncLocalStorage.snapshot() });
      startNext();
    },
    resendWebhooks: (order) => notify(order, 'resends', () => workflows.resendWebhooks(order, 'api')),
    requestDecision: (order) => notify(order, 'decision', () => workflows.requestDecision(order, 'hosted_checkout')),
    check: (orderId) => inBackground(orderId, () => makeDue(db, [orderId])),
    async drain() {
      draining = true;
      await Promise.all(running);
    },
  };
}
