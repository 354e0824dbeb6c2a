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

/**
 * The maximum number of waiting calls whose effect people wait for. If more arrive, the sweep makes all waiting calls
 * of the seller with the most.
 */
const MAX_WAITING_CALLS = 500;
/**
 * The maximum number of new orders whose start waits, about 2 KB each: a burst that is started before the sweep checks
 * it. The sweep starts all further ones.
 */
const MAX_WAITING_STARTS = 5000;

/** The time that the dispatcher has to notify a workflow before the sweep does. */
export const SWEEP_AFTER_MS = 10_000;

/** Starts and signals workflows in the background. The sweep retries starts and notifications that fail. */
export interface WorkflowDispatcher {
  /** Starts the workflow of a new order. */
  start(history: OrderHistory): void;
  /** Notifies a workflow that it has webhooks to resend. */
  resendWebhooks(order: Order): void;
  /** Notifies a workflow that it has to ask the lender for its decision, or the bank for the result of a payment. */
  requestDecision(order: Order): void;
  /** Makes the sweep check an order whose workflow and row do not match. Otherwise its regular check finds it. */
  check(order: Order): void;
  /** Resolves when the calls in flight have ended. The sweep makes the starts and notifications that still wait. */
  drain(): Promise<void>;
}

/** Times in ms. */
interface DispatcherOptions {
  /** The maximum number of concurrent calls that people wait for, and of concurrent starts of new orders. */
  inFlight: number;
  /** Until the sweep checks whether a started workflow still runs. */
  checkAfterMs: number;
  /** Until the sweep starts the workflow of a new order. */
  sweepStartAfterMs: number;
  /** How long a new order's workflow waits for a first message. */
  startDelayMs: number;
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
 * Calls that people wait for, and starts of new orders, wait in a queue each, in which sellers take turns. While
 * inserts queue, only one start runs at a time, so that the machine serves the callers that wait.
 */
export function createWorkflowDispatcher(
  { db, workflows, admission, log }: DispatcherDependencies,
  { inFlight, checkAfterMs, sweepStartAfterMs, startDelayMs }: DispatcherOptions,
): WorkflowDispatcher {
  const starts = createNewOrderStarts(workflows, inFlight, startDelayMs);
  const logPostponed = createPostponedLog(log, 'workflows could not be started or notified: the sweep will retry');
  const running = new Set<Promise<void>>();
  let draining = false;
  const calls = createCallQueue(() => inFlight);
  const newOrders = createCallQueue(() => (admission.hasQueue() ? 1 : starts.limit));

  function track(orderId: string, call: Promise<void>): Promise<void> {
    const done = call.catch((error: unknown) => logPostponed(orderId, error)).finally(() => running.delete(done));
    running.add(done);
    return done;
  }

  /** A queue of calls in which sellers take turns, and of which `limit` run at the same time. */
  function createCallQueue(limit: () => number) {
    const waiting = new FairQueue<WaitingCall>();
    let calling = 0;

    function callNext(): void {
      while (!draining && calling < limit()) {
        const next = waiting.shift();
        if (!next) return;
        calling += 1;
        void track(next.orderId, next.inRequest(next.call)).finally(() => {
          calling -= 1;
          callNext();
        });
      }
    }

    return {
      waiting,
      add({ id, sellerId }: Order, call: () => Promise<void>): void {
        waiting.push(sellerId, { orderId: id, call, inRequest: AsyncLocalStorage.snapshot() });
        callNext();
      },
    };
  }

  function inBackground(order: Order, call: () => Promise<void>): void {
    if (draining) return;
    if (calls.waiting.size >= MAX_WAITING_CALLS) {
      for (const { orderId } of calls.waiting.shiftLargest()) logPostponed(orderId, 'too many calls are waiting');
    }
    calls.add(order, call);
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

  async function start(history: OrderHistory, since: number): Promise<void> {
    const { id, version } = history.order;
    if (performance.now() - since > sweepStartAfterMs / 2) {
      // The sweep is about to start it. A start that both make costs twice.
      logPostponed(id, 'it waited too long');
      return;
    }
    await starts.start(history);
    await markRunning(db, id, checkAfterMs, { version, passedOn: 0 });
  }

  return {
    start(history) {
      const { order } = history;
      if (draining) return;
      if (newOrders.waiting.size >= MAX_WAITING_STARTS) {
        logPostponed(order.id, 'too many starts are waiting');
        return;
      }
      const since = performance.now();
      newOrders.add(order, () => start(history, since));
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
