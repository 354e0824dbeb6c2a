import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  allHandlersFinished,
  condition,
  continueAsNew,
  isCancellation,
  proxyActivities,
  setHandler,
  upsertSearchAttributes,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import { Mutex } from 'async-mutex';
import type { OrderActivities } from '../activities/order-activities';
import type { WebhookActivities } from '../activities/webhook-activities';
import {
  type OrderChange,
  type OrderState,
  type RequestContext,
  decide,
  isForVersion,
  isFinal,
  isStatusChange,
  withChange,
} from '../src/domain/order';
import { isUuid } from '../src/domain/text';
import type { WebhookRef } from '../src/domain/webhook';
import {
  type OrderWorkflowInput,
  type UncheckedRequest,
  CHANGE_REFUSED,
  WEBHOOK_TASK_QUEUE,
  cancelSignal,
  changeOrderUpdate,
  customerProgressSignal,
  getOrderQuery,
  isOrderEvent,
  orderStatusKey,
  resendWebhookSignal,
  toRequest,
} from './messages';

/** Reads and writes of the order's row: short, and retried until they succeed. */
const { readOrder, saveChange, recordRefusal } = proxyActivities<OrderActivities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', backoffCoefficient: 2, maximumInterval: '20 seconds' },
});

const { sendWebhook, resendWebhook } = proxyActivities<WebhookActivities>({
  taskQueue: WEBHOOK_TASK_QUEUE,
  // Longer than an attempt, which takes 15 s at most.
  startToCloseTimeout: '30 seconds',
  // If Postgres is unavailable, or the worker has died. A failed attempt sets the time of the next one itself.
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

/** One order. Completes when its status is final and no webhook is pending. */
export async function orderWorkflow({ orderId, state }: OrderWorkflowInput): Promise<OrderState> {
  /** The order as it is saved; undefined until a run that resumes it has read the row. */
  let saved = state;
  /** Why this run has to end before the order does. */
  let failure: Error | undefined;
  const oneAtATime = new Mutex();
  const deliveries = new Deliveries(() => saved?.changes ?? []);

  // Registered before the first await. Messages that arrive while the row is read wait for it.
  setHandler(getOrderQuery, () => saved ?? null);
  setHandler(changeOrderUpdate, (payload: unknown) => change(toRequest(payload), refuse));
  // Signals that came before the run's first task are handled in this order, one name after the other.
  setHandler(customerProgressSignal, (payload) => signal(payload));
  setHandler(cancelSignal, (payload) => signal(payload, 'cancel'));
  setHandler(resendWebhookSignal, (webhookId) => CancellationScope.nonCancellable(() => deliveries.resend(webhookId)));
  // "Request cancellation" in the Temporal UI is an operator's cancel of the order.
  CancellationScope.current().cancelRequested.catch(() =>
    signal({ reason: 'cancellation requested in Temporal' }, 'cancel').catch(fail),
  );

  return CancellationScope.nonCancellable(async () => {
    if (!saved) {
      const row = await readOrder(orderId);
      saved = row.state;
      deliveries.add(row.pendingWebhooks);
    }
    showStatus();
    void expire().catch(fail);
    const delivering = deliveries.run().catch(fail);
    await waitUntil(() => !isChanging() && (isDone() || workflowInfo().continueAsNewSuggested));
    if (!isDone()) {
      deliveries.stop();
      await delivering;
      // Changes may have come while an attempt ended.
      await waitUntil(() => !isChanging());
      await continueAsNew<typeof orderWorkflow>({ orderId });
    }
    return loaded();
  });

  /** Makes a change for a sender who gets no answer: a refusal is recorded in the timeline. */
  async function signal(payload: unknown, event?: 'cancel'): Promise<void> {
    await change(toRequest(payload, { channel: 'temporal', ...(event && { event }) }), recordRefused);
  }

  /** Decides on one request at a time, and shows nothing that is not saved. @returns the order once it is saved */
  function change(request: UncheckedRequest, onRefused: typeof refuse): Promise<OrderState> {
    const decideInTurn = () =>
      oneAtATime.runExclusive(async () => {
        await condition(() => saved !== undefined);
        await decideOn(request, onRefused);
        return loaded();
      });
    return CancellationScope.nonCancellable(decideInTurn);
  }

  async function decideOn(request: UncheckedRequest, onRefused: typeof refuse): Promise<void> {
    assertNotFailed();
    const { event } = request;
    const isAllowed = isOrderEvent(event) && isForVersion(loaded(), request);
    const outcome = isAllowed ? decide(loaded(), { ...request, event }, now()) : 'refused';
    if (outcome === 'refused') await onRefused(request);
    else if (outcome !== 'repeat') await save(outcome, request.context);
  }

  async function save(change: OrderChange, context: RequestContext | undefined): Promise<void> {
    const summary = `${change.event}: save ${change.to}`;
    try {
      const { webhook } = await saveChange.executeWithOptions({ summary }, [{ orderId, change, context }]);
      saved = withChange(loaded(), change);
      showStatus();
      if (webhook) deliveries.add([webhook]);
    } catch (error) {
      // Row and workflow differ: ROW_CHANGED or ROW_BEHIND. This run ends.
      fail((error instanceof ActivityFailure && error.cause) || error);
      assertNotFailed();
    }
  }

  async function recordRefused({ event, actor, channel, reason }: UncheckedRequest): Promise<void> {
    const { status: from } = loaded();
    await recordRefusal({ id: uuid4(), orderId, event, from, actor, channel, reason, at: now() });
  }

  /** @throws ApplicationFailure, whose message is for operators: the API reads in the row why */
  function refuse({ event }: UncheckedRequest): Promise<void> {
    const { status, version } = loaded();
    const message = `${event} is not allowed: the order is ${status}, and has version ${version}`;
    throw ApplicationFailure.nonRetryable(message, CHANGE_REFUSED);
  }

  /** Ends an order that is still open when it expires. */
  async function expire(): Promise<void> {
    const isClosed = (): boolean => isFinal(loaded().status);
    for (let due = loaded().expiresAt; due !== null;) {
      const waitMs = Math.max(Date.parse(due) - Date.now(), 1);
      await condition(isClosed, waitMs, { summary: 'until the order expires' });
      due = await oneAtATime.runExclusive(async () => (isClosed() ? null : expireUnlessHeld()));
    }
  }

  /** @returns until when the row holds the order, because its customer is paying; null if it has expired */
  async function expireUnlessHeld(): Promise<string | null> {
    const { heldUntil } = await readOrder(orderId);
    if (heldUntil !== null && Date.parse(heldUntil) > Date.now()) return heldUntil;
    await decideOn({ event: 'expired', actor: 'system', channel: 'workflow', reason: null }, refuse);
    return null;
  }

  function isChanging(): boolean {
    return oneAtATime.isLocked() || !allHandlersFinished();
  }

  function isDone(): boolean {
    return isFinal(loaded().status) && deliveries.isEmpty;
  }

  /** @throws what ends this run before the order does */
  async function waitUntil(isMet: () => boolean): Promise<void> {
    await condition(() => failure !== undefined || isMet());
    assertNotFailed();
  }

  function assertNotFailed(): void {
    if (failure !== undefined) throw failure;
  }

  function loaded(): OrderState {
    if (!saved) throw ApplicationFailure.nonRetryable('the order is not loaded yet');
    return saved;
  }

  function fail(error: unknown): void {
    failure ??= error as Error;
  }

  function showStatus(): void {
    const { status } = loaded();
    if (workflowInfo().typedSearchAttributes.get(orderStatusKey) !== status)
      upsertSearchAttributes([{ key: orderStatusKey, value: status }]);
  }
}

const now = (): string => new Date().toISOString();

/** Delivers an order's webhooks in the order of their sequence: one activity each, retried for days. */
class Deliveries {
  private readonly pending: WebhookRef[] = [];
  /** The activity that sends the first pending webhook, or waits for its next attempt. Cancelled, it is called again. */
  private call: CancellationScope | undefined;
  private isStopping = false;

  /** @param changes of the order, to name the events to operators */
  constructor(private readonly changes: () => readonly OrderChange[]) {}

  get isEmpty(): boolean {
    return this.pending.length === 0;
  }

  add(webhooks: readonly WebhookRef[]): void {
    const hadSuccessor = this.pending.length > 1;
    this.pending.push(...webhooks);
    // The first one gets fewer attempts and shorter waits while another one waits for it.
    if (!hadSuccessor && this.pending.length > 1) this.call?.cancel();
  }

  /** Delivers until `stop`. */
  async run(): Promise<void> {
    while (!this.isStopping) {
      const [first] = this.pending;
      if (!first) await condition(() => !this.isEmpty || this.isStopping);
      else if (await this.deliver(first)) this.pending.shift();
    }
  }

  /** Ends `run`, after the attempt that is being made. */
  stop(): void {
    this.isStopping = true;
    this.call?.cancel();
  }

  /** Sends a webhook once more. If it is the first pending one, its delivery may have ended with that. */
  async resend(webhookId: string): Promise<void> {
    // A signal of a person can carry anything.
    if (!isUuid(webhookId)) return;
    await resendWebhook.executeWithOptions({ summary: `resend webhook ${webhookId}` }, [webhookId]);
    this.call?.cancel();
  }

  /** @returns false if the call was cancelled, to be made again */
  private async deliver({ id, sequence }: WebhookRef): Promise<boolean> {
    const event = this.changes().filter(isStatusChange)[sequence - 1]?.event ?? '';
    const options = { summary: `webhook ${sequence}: ${event}` };
    this.call = new CancellationScope();
    try {
      await this.call.run(() => sendWebhook.executeWithOptions(options, [id]));
      return true;
    } catch (error) {
      // The second: an attempt was being made, and failed.
      if (isCancellation(error) || (error instanceof ActivityFailure && error.retryState === 'CANCEL_REQUESTED'))
        return false;
      throw error;
    } finally {
      this.call = undefined;
    }
  }
}
