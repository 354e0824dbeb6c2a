import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  proxyActivities,
} from '@temporalio/workflow';
import type { Activities, LenderResponse } from '../activities';
import { BANK_UNAVAILABLE_FAILURE, LENDER_BUSY_FAILURE } from '../src/domain/activity-failures';
import { toCodeSpan } from '../src/domain/markdown';
import { isFinal } from '../src/domain/status';
import { toUncheckedRequest } from '../src/domain/unchecked-request';
import { formatTime } from './format-time';
import { LENDER_TASK_QUEUE } from './messages';
import type { OrderEntity } from './order-entity';
import { LOOPS, type LoopScheduler } from './loop-scheduler';

/**
 * Asks the lender for its decision on an order's application, or the bank for the result of its payment, until there is
 * one, however long they are unavailable. A paid order is completed.
 */
export class DecisionPoller {
  private isRequested = false;
  private progress: string | undefined;

  constructor(private readonly scheduler: LoopScheduler) {}

  /** Requests a decision. A repeated request is harmless: the activity returns an existing decision. */
  request(): void {
    this.isRequested = true;
  }

  /** Describes to operators what is in progress. */
  describe(): string | undefined {
    return this.progress;
  }

  /**
   * Runs until the order is final or the run must stop.
   * @param onProgress called when `describe` changes
   */
  async run(order: OrderEntity, mustStop: () => boolean, onProgress: () => void): Promise<void> {
    const { id } = order.loaded.order;
    const isDone = (): boolean => isFinal(order.loaded.order.status) || mustStop();
    const setProgress = (progress: string | undefined): void => {
      this.progress = progress;
      onProgress();
    };
    for (;;) {
      setProgress(undefined);
      await this.scheduler.waitUntil(LOOPS.decisions, () => this.isRequested || isDone());
      if (isDone()) return;
      this.isRequested = false;
      const since = formatTime(Date.now());
      setProgress(`waiting for the lender or the bank since ${since}`);
      const response = await cancelWhen(isDone, () =>
        this.askForDecision(id, (error) => setProgress(describeOutage(error, since))),
      );
      if (response?.kind === 'referred') {
        const askAgainAt = formatTime(Date.now() + response.askAgainMs);
        setProgress(`the lender or the bank has not decided yet: asked again at ${askAgainAt}`);
        // A request may be another application, or a payment.
        const isWoken = () => this.isRequested || isDone();
        const timer = { ms: response.askAgainMs, summary: 'until the lender or the bank is asked again' };
        await this.scheduler.waitUntil(LOOPS.decisions, isWoken, timer);
        this.isRequested = true;
      } else if (response?.kind === 'decided') {
        setProgress(undefined);
        const { event, reason, isPaid } = response;
        await order.signal(toUncheckedRequest({ event, reason }, 'workflow', 'checkout'));
        // The customer agreed at the bank. A cancel that came first stands.
        if (isPaid && !isDone()) await order.signal(toUncheckedRequest({}, 'workflow', 'customer', 'completed'));
      }
    }
  }

  /**
   * The workflow receives a failure only if it ends the activity. So two attempts come first, and all further ones are
   * made by a second activity: an outage costs a few events, however long it is.
   */
  private async askForDecision(orderId: string, onUnavailable: (error: unknown) => void): Promise<LenderResponse> {
    try {
      return await this.scheduler.runCommand(LOOPS.decisions, () =>
        lender('ask the lender or the bank for a decision', 2).askForDecision(orderId),
      );
    } catch (error) {
      if (isCancellation(error)) throw error;
      onUnavailable(error);
      return this.scheduler.runCommand(LOOPS.decisions, () =>
        lender('ask the lender or the bank again').askForDecision(orderId),
      );
    }
  }
}

/** Cancels `work` if `isDone` becomes true before it completes. */
async function cancelWhen<T>(isDone: () => boolean, work: () => Promise<T>): Promise<T | undefined> {
  const scope = new CancellationScope();
  try {
    return await scope.run(() => Promise.race([work(), condition(isDone).then(() => undefined)]));
  } finally {
    scope.cancel();
  }
}

const lender = (summary: string, maximumAttempts = Infinity) =>
  proxyActivities<Activities>({
    taskQueue: LENDER_TASK_QUEUE,
    startToCloseTimeout: '30 seconds',
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts },
    summary,
  });

function describeOutage(error: unknown, since: string): string {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  const type = cause instanceof ApplicationFailure ? cause.type : undefined;
  const reason = toCodeSpan(cause?.message ?? String(error));
  const isBusy = type === LENDER_BUSY_FAILURE;
  const who = type === BANK_UNAVAILABLE_FAILURE ? 'bank' : 'lender';
  const what = isBusy
    ? `waiting since ${since} for a worker that may call the lender, ${reason}`
    : `the ${who} has been unavailable since ${since}, error ${reason}`;
  return `${what}; the ${who} is asked again within a minute after each failure. "Pending Activities" shows the last error`;
}
