import { AsyncLocalStorage } from 'node:async_hooks';
import type { Logger } from 'pino';
import { type RequestKind, lastRequestToConfirm, makeDue, markRunning } from '../../db/order-work';
import type { Db } from '../../db/pool';
import type { Order, OrderHistory } from '../../domain/order';
import type { OrderWorkflows } from '../../temporal/order-workflows';
import type { Admission } from '../admission';
import { FairQueue } from '../../concurrency/fair-queue';
import { createNewOrderStarts } from './new-order-starts';
import { createPostponedLog } from './postponed-log';

/** The maximum number of calls that wait for a free slot: people wait for their effect. The sweep makes all further calls. */
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
  check(order: Order): void;
  /** Resolves when the calls in flight have ended. The sweep makes the calls that still wait. */
  drain(): Promise<void>;
}

/** Times in ms. */
export interface DispatcherOptions {
  /** The maximum number of concurrent calls that people wait for, and of concurrent starts of new orders. */
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
  inRequest: InRequest;
}

interface WaitingCall {
  orderId: string;
  call: () => Promise<void>;
  inRequest: InRequest;
}

/** Runs a function as part of the request that caused it, so that the workflow belongs to its trace. */
type InRequest = <T>(work: () => T) => T;

interface DispatcherDependencies {
  db: Db;
  workflows: OrderWorkflows;
  admission: Pick<Admission, 'hasQueue'>;
  log: Logger;
}

/**
 * Calls that people wait for, and starts of new orders, wait in a queue each, in which sellers take turns. While inserts queue, only one start runs at a time, so that the machine serves the callers that wait.
 */
export function createWorkflowDispatcher(
  { db, workflows, admission, log }: DispatcherDependencies,
  { inFlight, checkAfterMs, sweepStartAfterMs, startDelayMs }: DispatcherOptions,
): WorkflowDispatcher {
  const starts = createNewOrderStarts(workflows, inFlight, startDelayMs);
  const waiting = new FairQueue<WaitingStart>();
  const waitingCalls = new FairQueue<WaitingCall>();
  const logPostponed = createPostponedLog(log, 'workflows could not be started or notified: the sweep will retry');
  const running = new Set<Promise<void>>();
  let starting = 0;
  let calling = 0;
  let draining = false;

  function track(orderId: string, call: Promise<void>): Promise<void> {
    const done = call.catch((error: unknown) => logPostponed(orderId, error)).finally(() => running.delete(done));
    running.add(done);
    return done;
  }

  function inBackground({ id, sellerId }: Order, call: () => Promise<void>): void {
    if (draining) return;
    if (waitingCalls.size >= MAX_WAITING_CALLS) {
      for (const { orderId } of waitingCalls.shiftLargest()) logPostponed(orderId, 'too many calls are waiting');
    }
    waitingCalls.push(sellerId, { orderId: id, call, inRequest: AsyncLocalStorage.snapshot() });
    callNext();
  }

  function callNext(): void {
    while (!draining && calling < inFlight) {
      const next = waitingCalls.shift();
      if (!next) return;
      calling += 1;
      void track(next.orderId, next.inRequest(next.call)).finally(() => {
        calling -= 1;
        callNext();
      });
    }
  }

  function notify(order: Order, kind: RequestKind, call: () => Promise<void>): void {
    const { id } = order;
    inBackground(order, async () => {
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
    check: (order) => inBackground(order, () => makeDue(db, [order.id])),
    async drain() {
      draining = true;
      await Promise.all(running);
    },
  };
}
