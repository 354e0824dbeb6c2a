import {
  ApplicationFailure,
  CancellationScope,
  allHandlersFinished,
  condition,
  continueAsNew,
  log,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertSearchAttributes,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities, PendingWebhook } from '../activities';
import type { Decision, Order, OrderHistory } from '../src/domain/order';
import { decide, classifyEvent } from '../src/domain/order';
import { isFinal } from '../src/domain/status';
import { DecisionPoller } from './decision-poller';
import { orderDetails } from './details';
import type { OrderWorkflowInput } from './messages';
import {
  BEHIND_ROW,
  REFUSED,
  applicationSubmittedSignal,
  cancelOrderUpdate,
  cancelSignal,
  customerProgressSignal,
  getOrderQuery,
  orderStatusKey,
  reportProgressUpdate,
  resendWebhooksSignal,
} from './messages';
import type { UncheckedRequest } from './requests';
import { isRequestable, toRequest } from './requests';
import { DeliveryQueue } from './delivery-queue';

/** Activities that read or write Postgres: short, and tried until they get through. */
const inPostgres = (summary: string) =>
  proxyActivities<Activities>({
    startToCloseTimeout: '10 seconds',
    retry: { initialInterval: '200 milliseconds', backoffCoefficient: 2, maximumInterval: '20 seconds' },
    summary,
  });

/** One order from its creation until it is SUCCESSFUL or UNSUCCESSFUL and its webhooks are settled. */
export async function orderWorkflow(input: OrderWorkflowInput): Promise<Order> {
  const run = new OrderRun('history' in input ? input.history : undefined);
  run.listen();
  // Whatever cancels the workflow is an operator's cancel of the order: nothing in here may be torn off by it.
  return CancellationScope.nonCancellable(() => run.live(input));
}

class OrderRun {
  private readonly lane = new DeliveryQueue();
  private readonly seeker = new DecisionPoller();
  private readonly lock = new Lock();
  /** Set where the row tells another story than this workflow: the run stops, and the sweep resumes from the row. */
  private conflict: Error | undefined;
  /** An operator's native cancellation is no handler that the SDK would count. */
  private signalsInWork = 0;

  constructor(private history: OrderHistory | undefined) {}

  /** Takes messages from the first moment: an early one waits until the row is read. */
  listen(): void {
    setHandler(getOrderQuery, () => this.history?.order ?? null);
    setHandler(cancelOrderUpdate, (payload: unknown) => this.update(toRequest(payload, 'operator', 'cancel')), {
      validator: (payload: unknown) => this.refuseEarly(toRequest(payload, 'operator', 'cancel')),
    });
    setHandler(reportProgressUpdate, (payload: unknown) => this.update(toRequest(payload, 'checkout')), {
      validator: (payload: unknown) => this.refuseEarly(toRequest(payload, 'checkout')),
    });
    setHandler(cancelSignal, (payload) => this.signal(toRequest(payload, 'operator', 'cancel')));
    setHandler(customerProgressSignal, (payload) => this.signal(toRequest(payload, 'checkout')));
    setHandler(resendWebhooksSignal, () => CancellationScope.nonCancellable(() => this.takeUpResends()));
    setHandler(applicationSubmittedSignal, () => this.seeker.start());
    CancellationScope.current().cancelRequested.catch(() =>
      this.signal(toRequest({ reason: 'the workflow was asked to cancel' }, 'operator', 'cancel')),
    );
  }

  async live(input: OrderWorkflowInput): Promise<Order> {
    const { orderId } = 'history' in input ? { orderId: input.history.order.id } : input;
    this.history ??= await this.load(orderId);
    this.announce();
    const stop = (error: unknown) => (this.conflict ??= error as Error);
    this.expire().catch(stop);
    this.seekDecision().catch(stop);
    while (!this.isOver()) {
      if (this.lane.isEmpty) await condition(() => !this.lane.isEmpty || this.isOver());
      else if (!(await this.lane.step(() => this.mustStop()))) await this.bringForward().catch(() => undefined);
      this.announce();
    }
    if (this.conflict !== undefined) {
      await condition(() => this.isQuiet());
      throw this.conflict;
    }
    if (!this.isSettled()) await continueAsNew<typeof orderWorkflow>({ orderId });
    return this.loaded().order;
  }

  private isSettled(): boolean {
    return this.history !== undefined && isFinal(this.history.order.status) && this.lane.isEmpty;
  }

  private isQuiet(): boolean {
    return this.signalsInWork === 0 && allHandlersFinished();
  }

  private mustStop(): boolean {
    return this.conflict !== undefined || (workflowInfo().continueAsNewSuggested && this.isQuiet());
  }

  private isOver(): boolean {
    return this.mustStop() || (this.isSettled() && this.isQuiet());
  }

  private loaded(): OrderHistory {
    if (!this.history) throw ApplicationFailure.nonRetryable('the order is not loaded yet');
    return this.history;
  }

  private async load(orderId: string): Promise<OrderHistory> {
    const { loadOrder } = inPostgres('read the order');
    const { history, pendingWebhooks, resends, applicationWaits } = await loadOrder(orderId);
    this.lane.add(pendingWebhooks);
    this.lane.resend(resends);
    if (applicationWaits) this.seeker.start();
    return history;
  }

  private async takeUpResends(): Promise<void> {
    await condition(() => this.history !== undefined);
    const { findResends } = inPostgres('read which webhooks to resend');
    this.lane.resend(await findResends(this.loaded().order.id));
  }

  /** An early refusal; the decision itself is taken under the lock. */
  private refuseEarly({ event, observedVersion }: UncheckedRequest): void {
    if (!isRequestable(event)) throw ApplicationFailure.nonRetryable(`no such event: ${event}`, REFUSED);
    if (!this.history || this.history.order.version < observedVersion) return;
    if (classifyEvent(this.history, event) === 'refused') throw refusal(this.history.order, event);
  }

  private async update(request: UncheckedRequest): Promise<Order> {
    return CancellationScope.nonCancellable(async () => {
      const { decision, order } = await this.change(request);
      if (decision === 'refused') throw refusal(order, request.event);
      return order;
    });
  }

  /** The same change by a message that nobody waits for: a refusal is left in the timeline. */
  private async signal(request: UncheckedRequest): Promise<void> {
    this.signalsInWork += 1;
    try {
      await CancellationScope.nonCancellable(async () => {
        const { decision, order } = await this.change(request);
        if (decision === 'refused') await this.recordRefusal(order, request);
      });
    } catch (error) {
      if (this.conflict === undefined) throw error;
      // The run stops; nobody waits for a signal's answer, so the timeline tells that it was not carried out.
      const reason = `not carried out, the workflow was behind the row: send it again. ${request.reason ?? ''}`.trim();
      await this.recordRefusal(this.loaded().order, { ...request, reason });
    } finally {
      this.signalsInWork -= 1;
    }
  }

  private async recordRefusal(
    { id: orderId, status }: Order,
    { event, actor, reason }: UncheckedRequest,
  ): Promise<void> {
    const { recordRefusal } = inPostgres(`refused: ${event}`);
    await recordRefusal({ id: uuid4(), orderId, event, from: status, actor, reason, at: new Date().toISOString() });
  }

  /** Decides and saves one change at a time; nothing is shown before it is saved. */
  private async change(request: UncheckedRequest): Promise<{ decision: Decision['kind']; order: Order }> {
    await condition(() => this.history !== undefined);
    return this.lock.hold(async () => {
      const before = this.loaded();
      const { event } = request;
      // The sender has seen more than this run knows: the save finds the conflict, and the run stops.
      if (before.order.version < request.observedVersion) await this.saveHistory(before);
      const decision: Decision = isRequestable(event)
        ? decide(before, { ...request, event }, new Date().toISOString())
        : { kind: 'refused' };
      if (decision.kind === 'change') await this.save(decision.next);
      return { decision: decision.kind, order: this.loaded().order };
    });
  }

  private async save(next: OrderHistory): Promise<void> {
    this.lane.add(await this.saveHistory(next));
    this.history = next;
    this.announce();
  }

  private async saveHistory(history: OrderHistory): Promise<PendingWebhook[]> {
    if (this.conflict !== undefined) throw behindRow();
    const { saveOrder } = inPostgres(`save ${history.order.status}`);
    try {
      return await saveOrder(history);
    } catch (error) {
      log.error('the order cannot be saved: the row tells another story; the sweep resumes it from the row', { error });
      this.conflict = error as Error;
      throw behindRow();
    }
  }

  /** Saves what a restored backup made Postgres forget. A conflict that this finds ends the run like any other. */
  private async bringForward(): Promise<void> {
    await this.lock.hold(async () => {
      this.lane.add(await this.saveHistory(this.loaded()));
    });
  }

  private announce(): void {
    const { order } = this.loaded();
    setCurrentDetails(orderDetails(this.loaded(), this.lane.describe(), this.seeker.describe()));
    if (workflowInfo().typedSearchAttributes.get(orderStatusKey) !== order.status) {
      upsertSearchAttributes([{ key: orderStatusKey, value: order.status }]);
    }
  }

  /** Has the lender decide on the application as long as the order is open; the order's end ends the asking. */
  private async seekDecision(): Promise<void> {
    await this.seeker.run(this.loaded().order.id, {
      isOver: () => isFinal(this.loaded().order.status) || this.mustStop(),
      announce: () => this.announce(),
      decided: ({ event, reason }) => this.signal(toRequest({ event, reason }, 'checkout')),
    });
  }

  private async expire(): Promise<void> {
    const { order } = this.loaded();
    if (order.expiresAt === null || isFinal(order.status)) return;
    await sleep(Math.max(Date.parse(order.expiresAt) - Date.now(), 1), { summary: 'until the order expires' });
    await this.change(toRequest({}, 'system', 'expired'));
  }
}

/** Serves its holders one after the other, in the order in which they came. */
class Lock {
  private last: Promise<unknown> = Promise.resolve();

  hold<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.last.then(work);
    this.last = turn.catch(() => undefined);
    return turn;
  }
}

function behindRow(): ApplicationFailure {
  return ApplicationFailure.nonRetryable('the workflow was behind the row; repeat the call', BEHIND_ROW);
}

function refusal(order: Order, event: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(
    `${event} is not allowed: the order is ${order.status}`,
    REFUSED,
    order.status,
  );
}
