import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setDefaultSignalHandler,
  setHandler,
  upsertSearchAttributes,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import { Mutex } from 'async-mutex';
import type { OrderActivities } from '../activities/order-activities';
import { type OrderChange, type OrderState, decide, isForVersion, isFinal, withChange } from '../src/domain/order';
import type { RequestContext } from '../src/domain/request-context';
import { Deliveries } from './deliveries';
import {
  type OrderWorkflowInput,
  type UncheckedRequest,
  CHANGE_REFUSED,
  VERSION_DIFFERS,
  cancelOrderUpdate,
  cancelSignal,
  customerProgressSignal,
  getOrderQuery,
  isOrderEvent,
  orderStatusKey,
  reportProgressUpdate,
  resendWebhookSignal,
  toCancel,
  toProgress,
} from './messages';

/** Reads and writes of the order's row: short, and retried until they succeed. */
const { readOrder, saveChange, recordRefusal } = proxyActivities<OrderActivities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', backoffCoefficient: 2, maximumInterval: '20 seconds' },
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
  setHandler(cancelOrderUpdate, (payload: unknown) => update(toCancel(payload)));
  setHandler(reportProgressUpdate, (payload: unknown) => update(toProgress(payload)));
  const signals = new Map<string, (payload?: unknown) => Promise<void> | void>([
    [cancelSignal.name, (payload) => signal(toCancel(payload, 'temporal'))],
    [customerProgressSignal.name, (payload) => signal(toProgress(payload, 'temporal'))],
    [
      resendWebhookSignal.name,
      (eventId) => CancellationScope.nonCancellable(() => deliveries.resend(eventId as string).catch(fail)),
    ],
  ]);
  // Handles the signals that are here already in their order. Each handler alone would handle those of its name.
  setDefaultSignalHandler((name, payload) => signals.get(name)?.(payload));
  for (const [name, handle] of signals) setHandler(defineSignal<[unknown?]>(name), handle);
  // With a default handler, the SDK fails the task of a signal with a reserved name.
  setDefaultSignalHandler(undefined);
  // "Request cancellation" in the Temporal UI is an operator's cancel of the order.
  CancellationScope.current().cancelRequested.catch(() =>
    signal(toCancel({ reason: 'cancellation requested in Temporal' }, 'temporal')),
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

  /** Makes a change and returns the order once it is saved. */
  async function update(request: UncheckedRequest): Promise<OrderState> {
    return CancellationScope.nonCancellable(async () => {
      await change(request);
      return loaded();
    });
  }

  /** Makes a change for a sender who gets no answer: a refusal is recorded in the timeline. */
  async function signal(request: UncheckedRequest): Promise<void> {
    await CancellationScope.nonCancellable(() => change(request, recordRefused)).catch(fail);
  }

  /** Decides on one request at a time, and shows nothing that is not saved. @throws ApplicationFailure if it is refused */
  async function change(request: UncheckedRequest, onRefused = refuse): Promise<void> {
    await oneAtATime.runExclusive(async () => {
      await condition(() => saved !== undefined);
      await decideOn(request, onRefused);
    });
  }

  async function decideOn(request: UncheckedRequest, onRefused = refuse): Promise<void> {
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
      // The row has another change. This run ends, and the next one reads the row.
      fail((error instanceof ActivityFailure && error.cause) || error);
      assertNotFailed();
    }
  }

  async function recordRefused({ event, actor, channel, reason }: UncheckedRequest): Promise<void> {
    const { status: from } = loaded();
    await recordRefusal({ id: uuid4(), orderId, event, from, actor, channel, reason, at: now() });
  }

  function refuse(request: UncheckedRequest): Promise<void> {
    const { status, version } = loaded();
    const { event } = request;
    if (!isForVersion(loaded(), request))
      throw ApplicationFailure.nonRetryable(`the order has version ${version}`, VERSION_DIFFERS, version);
    throw ApplicationFailure.nonRetryable(`${event} is not allowed: the order is ${status}`, CHANGE_REFUSED, status);
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
    await decideOn({ event: 'expired', actor: 'system', channel: 'workflow', reason: null });
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
