import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  allHandlersFinished,
  condition,
  log,
  proxyLocalActivities,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities, SavedOrder } from '../activities';
import { CUSTOMER_AGREED_FAILURE, PAYMENT_PROCESSING_FAILURE } from '../src/domain/activity-failures';
import {
  type ChangeOutcome,
  type PreviousRun,
  type WorkflowOrderHistory,
  type WorkflowOrder,
  classifyEvent,
  decide,
} from '../src/domain/order';
import { type UncheckedRequest, isOrderEvent } from '../src/domain/unchecked-request';
import type { DeliveryQueue } from './delivery-queue';
import {
  BEHIND_ROW_FAILURE,
  CHANGE_REFUSED_FAILURE,
  REFUSAL_SUMMARY_PREFIX,
  VERSION_DIFFERS_FAILURE,
} from './messages';
import type { LoopScheduler } from './loop-scheduler';

/**
 * Activities that read or write Postgres: short, and retried until they succeed. They are local, so that a change needs
 * one workflow task. If Postgres fails, they wait on timers, and not in the worker's slots for workflow tasks.
 */
const inPostgres = (summary: string) =>
  proxyLocalActivities<Activities>({
    startToCloseTimeout: '10 seconds',
    localRetryThreshold: '300 milliseconds',
    retry: { initialInterval: '200 milliseconds', backoffCoefficient: 2, maximumInterval: '20 seconds' },
    summary,
  });

/** The result of a request. */
interface RequestResult {
  outcome: ChangeOutcome<WorkflowOrder>['kind'] | 'other_version';
  order: WorkflowOrder;
}

/** The state of one order: decides and saves one change at a time, and shows nothing that is not saved. */
export class OrderEntity {
  /**
   * Set once this run must end, for example because the row holds a different change. The sweep resumes from the row.
   */
  failure: Error | undefined;
  /** The length of Temporal's history during the run's first workflow task. Signals that came before are in it. */
  private readonly firstTaskLength = workflowInfo().historyLength;
  /** `allHandlersFinished` does not count the handling of a cancellation request. */
  private openSignals = 0;

  /**
   * @param history undefined for a run that resumes the order: `load` reads it from the row
   * @param onSaved called after each saved change
   */
  constructor(
    private history: WorkflowOrderHistory | undefined,
    private readonly deliveries: DeliveryQueue,
    private readonly scheduler: LoopScheduler,
    private readonly onSaved: () => void,
  ) {}

  /** The saved history; undefined until the row is read. */
  get saved(): WorkflowOrderHistory | undefined {
    return this.history;
  }

  /** @throws ApplicationFailure until the row is read */
  get loaded(): WorkflowOrderHistory {
    if (!this.history) throw ApplicationFailure.nonRetryable('the order is not loaded yet');
    return this.history;
  }

  /** True if no message is being handled, and nothing is being saved. */
  get isIdle(): boolean {
    return this.openSignals === 0 && !this.scheduler.isBusy && allHandlersFinished();
  }

  /** Ends this run with `error`, unless an earlier error ends it already. */
  readonly fail = (error: unknown): void => {
    this.failure ??= error as Error;
  };

  /** Reads the order from its row. */
  async load(orderId: string, previous: PreviousRun | undefined): Promise<{ decisionPending: boolean }> {
    const { loadOrder } = inPostgres('read the order');
    const loaded = await this.scheduler.runExclusive(() => loadOrder(orderId, previous));
    const { history, pendingWebhooks, resends, decisionPending } = loaded;
    this.deliveries.add(pendingWebhooks);
    this.deliveries.addResends(resends);
    this.history = history;
    return { decisionPending };
  }

  /** Adds the resends that are requested in Postgres to the delivery queue. */
  async addResends(): Promise<void> {
    const { findResends } = inPostgres('read which webhooks to resend');
    this.deliveries.addResends(await this.exclusively(() => findResends(this.loaded.order.id)));
  }

  /**
   * Refuses requests that are certain to fail, so that they add nothing to Temporal's history. `change` decides on all
   * others.
   */
  validate({ event, observedVersion }: UncheckedRequest): void {
    // Temporal drops a task that only refuses. If it is a run's first, the next update waits for 5 s. `update` refuses
    // instead.
    if (workflowInfo().historyLength === this.firstTaskLength) return;
    if (!this.history || this.history.order.version < observedVersion) return;
    if (!isOrderEvent(event)) throw refusal(this.history.order, event);
    // What is in progress may allow it.
    if (this.openSignals > 0 || this.scheduler.isBusy) return;
    if (classifyEvent(this.history, event) === 'refused') throw refusal(this.history.order, event);
  }

  /**
   * Makes a change and returns the saved order.
   * @throws ApplicationFailure CHANGE_REFUSED_FAILURE, VERSION_DIFFERS_FAILURE or BEHIND_ROW_FAILURE
   */
  async update(request: UncheckedRequest): Promise<WorkflowOrder> {
    return CancellationScope.nonCancellable(async () => {
      const { outcome, order } = await this.change(request);
      if (outcome === 'refused') throw refusal(order, request.event);
      if (outcome === 'other_version') throw versionDiffers(order);
      return order;
    });
  }

  /** Makes a change for a sender that gets no response: a refusal is recorded in the timeline. */
  async signal(request: UncheckedRequest): Promise<void> {
    this.openSignals += 1;
    try {
      await CancellationScope.nonCancellable(() => this.changeOrRecord(request));
    } finally {
      this.openSignals -= 1;
    }
  }

  private async changeOrRecord(request: UncheckedRequest): Promise<void> {
    await this.exclusively(async () => {
      try {
        const { outcome, order } = await this.decideAndSave(request);
        if (outcome === 'refused' || outcome === 'other_version') await this.recordRefusal(order, request);
      } catch (error) {
        // A run that is about to stop leaves the request to the next run: see `unprocessedRequests`.
        if (this.failure === undefined) throw error;
      }
    });
  }

  private async recordRefusal(
    { id: orderId, status }: WorkflowOrder,
    { event, actor, channel, reason }: UncheckedRequest,
  ): Promise<void> {
    const { recordRefusal } = inPostgres(`${REFUSAL_SUMMARY_PREFIX}${event}`);
    const at = new Date().toISOString();
    await recordRefusal({ id: uuid4(), orderId, event, from: status, actor, channel, reason, at });
  }

  /** Decides on and saves one change at a time. */
  change(request: UncheckedRequest): Promise<RequestResult> {
    return this.exclusively(() => this.decideAndSave(request));
  }

  /** Runs `work`, which calls local activities, in its turn, once the row has been read. */
  private async exclusively<T>(work: () => Promise<T>): Promise<T> {
    await condition(() => this.history !== undefined);
    return this.scheduler.runExclusive(work);
  }

  private async decideAndSave(request: UncheckedRequest): Promise<RequestResult> {
    // A run that is about to stop refuses nothing: what its row has may allow it.
    if (this.failure !== undefined) throw behindRow();
    const before = this.loaded;
    const { event } = request;
    // The sender has seen a version that this run does not have: the save finds the conflict, and the run stops.
    if (before.order.version < request.observedVersion) await this.saveAgain();
    const { version } = this.loaded.order;
    if (request.ifVersion?.includes(version) === false) return { outcome: 'other_version', order: this.loaded.order };
    const outcome: ChangeOutcome<WorkflowOrder> = isOrderEvent(event)
      ? decide(before, { ...request, event }, new Date().toISOString())
      : { kind: 'refused' };
    if (outcome.kind === 'change') {
      const { history, pendingWebhooks } = await this.save(outcome.next);
      this.deliveries.add(pendingWebhooks);
      this.history = history;
      this.onSaved();
    }
    return { outcome: outcome.kind, order: this.loaded.order };
  }

  /** Saves again the changes that a restored backup of Postgres lacks. If they cannot be saved, the run ends. */
  async bringRowForward(): Promise<void> {
    await this.exclusively(() => this.saveAgain()).catch(this.fail);
  }

  private async saveAgain(): Promise<void> {
    this.deliveries.add((await this.save(this.loaded, true)).pendingWebhooks);
  }

  /** @param isRestored true if the history was saved before */
  private async save(history: WorkflowOrderHistory, isRestored = false): Promise<SavedOrder> {
    if (this.failure !== undefined) throw behindRow();
    const { saveOrder } = inPostgres(`save ${history.order.status}`);
    try {
      return await saveOrder(history, isRestored);
    } catch (error) {
      if (whyNotExpired(error) !== undefined) throw error;
      log.error(
        'the row is missing or has other changes: this run stops, and the sweep resumes the order if it has a row',
        { error },
      );
      this.fail(error);
      throw behindRow();
    }
  }
}

/**
 * Why an expiry was refused; undefined for other errors. The failure of a local activity comes without an
 * `ActivityFailure`.
 */
export function whyNotExpired(
  error: unknown,
): typeof CUSTOMER_AGREED_FAILURE | typeof PAYMENT_PROCESSING_FAILURE | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const type = cause instanceof ApplicationFailure ? cause.type : undefined;
  return type === CUSTOMER_AGREED_FAILURE || type === PAYMENT_PROCESSING_FAILURE ? type : undefined;
}

function behindRow(): ApplicationFailure {
  return ApplicationFailure.nonRetryable('the workflow was behind the row; repeat the call', BEHIND_ROW_FAILURE);
}

function versionDiffers({ version }: WorkflowOrder): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`the order has version ${version}`, VERSION_DIFFERS_FAILURE, version);
}

function refusal(order: WorkflowOrder, event: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(
    `${event} is not allowed: the order is ${order.status}`,
    CHANGE_REFUSED_FAILURE,
    order.status,
  );
}
