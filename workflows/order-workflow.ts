import {
  CancellationScope,
  condition,
  continueAsNew,
  defineSignal,
  setCurrentDetails,
  setDefaultSignalHandler,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { WorkflowOrder } from '../src/domain/order';
import { isFinal } from '../src/domain/status';
import { fromCancellationRequest, statedChannel, toCancel, toProgress } from '../src/domain/unchecked-request';
import { DecisionPoller } from './decision-poller';
import { DeliveryQueue } from './delivery-queue';
import { expireOrder } from './expiry';
import {
  type OrderWorkflowInput,
  requestDecisionSignal,
  cancelOrderUpdate,
  cancelSignal,
  customerProgressSignal,
  getOrderQuery,
  orderStatusKey,
  reportProgressUpdate,
  resendWebhooksSignal,
  saveAgainSignal,
  webhookStateKey,
} from './messages';
import { orderDetails } from './order-details';
import { OrderEntity } from './order-entity';
import { LOOPS, LoopScheduler } from './loop-scheduler';

/** One order, from its creation until it is settled. */
export async function orderWorkflow(input: OrderWorkflowInput): Promise<WorkflowOrder> {
  const scheduler = new LoopScheduler();
  const deliveries = new DeliveryQueue(scheduler);
  const decisions = new DecisionPoller(scheduler);
  const previous = 'history' in input ? undefined : input.previous;
  const order = new OrderEntity('history' in input ? input.history : undefined, deliveries, scheduler, publishState);

  for (const request of previous?.unprocessed ?? []) order.signal(request).catch(order.fail);
  // Handlers are registered before the first await. A message that arrives while the row is read waits for it.
  setHandler(getOrderQuery, () => order.saved?.order ?? null);
  const signals = new Map<string, (payload?: unknown) => Promise<void> | void>([
    [cancelSignal.name, (payload) => order.signal(toCancel(payload, 'temporal'))],
    [customerProgressSignal.name, (payload) => order.signal(toProgress(payload, 'temporal'))],
    [resendWebhooksSignal.name, () => CancellationScope.nonCancellable(() => order.addResends())],
    [saveAgainSignal.name, () => CancellationScope.nonCancellable(() => order.bringRowForward())],
    [requestDecisionSignal.name, () => decisions.request()],
  ]);
  // Handles the signals that are here already, in their order, before any update: a replay may get the task's updates
  // later.
  setDefaultSignalHandler((name, payload) => signals.get(name)?.(payload));
  for (const [name, handle] of signals) setHandler(defineSignal<[unknown?]>(name), handle);
  // With a default handler, the SDK fails the task of a signal with a reserved name.
  setDefaultSignalHandler(undefined);
  setHandler(cancelOrderUpdate, (payload: unknown) => order.update(toCancel(payload, statedChannel(payload))), {
    validator: (payload: unknown) => order.validate(toCancel(payload, statedChannel(payload))),
  });
  setHandler(reportProgressUpdate, (payload: unknown) => order.update(toProgress(payload, statedChannel(payload))), {
    validator: (payload: unknown) => order.validate(toProgress(payload, statedChannel(payload))),
  });
  CancellationScope.current().cancelRequested.catch(() => order.signal(fromCancellationRequest()));

  return CancellationScope.nonCancellable(async () => {
    const orderId = 'history' in input ? input.history.order.id : input.orderId;
    if (!order.saved && (await order.load(orderId, previous)).decisionPending) decisions.request();
    publishState();
    expireOrder(order, scheduler).catch(order.fail);
    decisions.run(order, mustStop, publishDetails).catch(order.fail);
    await scheduler.waitToContinue(LOOPS.deliveries);
    while (!isDone()) {
      if (deliveries.isEmpty) await scheduler.waitUntil(LOOPS.deliveries, () => !deliveries.isEmpty || isDone());
      else if (!(await deliveries.deliverNext(mustStop)))
        await scheduler.runCommand(LOOPS.deliveries, () => order.bringRowForward());
      publishState();
    }
    if (order.failure !== undefined) {
      await condition(() => order.isIdle);
      throw order.failure;
    }
    if (!isSettled()) {
      // A row from a restored backup may lack what this run has saved.
      const asSaved = { saved: order.loaded, unprocessed: [], reason: null, channel: 'workflow' } as const;
      await continueAsNew<typeof orderWorkflow>({ orderId, previous: asSaved });
    }
    return order.loaded.order;
  });

  function isSettled(): boolean {
    return isFinal(order.loaded.order.status) && deliveries.isEmpty;
  }

  function mustStop(): boolean {
    return order.failure !== undefined || (workflowInfo().continueAsNewSuggested && order.isIdle);
  }

  function isDone(): boolean {
    return mustStop() || (isSettled() && order.isIdle);
  }

  /** Updates the details in the Temporal UI: what has been saved, and what is in progress. */
  function publishDetails(): void {
    const progress = {
      delivery: deliveries.describe(),
      decision: decisions.describe(),
      replaced: previous?.reason,
    };
    setCurrentDetails(orderDetails(order.loaded, progress));
  }

  /** Also updates the search attributes by which operators find the order. */
  function publishState(): void {
    publishDetails();
    const { status } = order.loaded.order;
    const shown = workflowInfo().typedSearchAttributes;
    if (shown.get(orderStatusKey) !== status) upsertSearchAttributes([{ key: orderStatusKey, value: status }]);
    const { trouble = null } = deliveries;
    if ((shown.get(webhookStateKey) ?? null) !== trouble) {
      upsertSearchAttributes([{ key: webhookStateKey, value: trouble }]);
    }
  }
}
