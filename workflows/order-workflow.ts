import {
  CancellationScope,
  condition,
  continueAsNew,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { WorkflowOrder } from '../src/domain/order';
import { isFinal } from '../src/domain/status';
import { toUncheckedRequest } from './change-requests';
import { DecisionPoller } from './decision-poller';
import { DeliveryQueue } from './delivery-queue';
import { expireOrder } from './expiry';
import {
  type OrderWorkflowInput,
  applicationSubmittedSignal,
  cancelOrderUpdate,
  cancelSignal,
  customerProgressSignal,
  getOrderQuery,
  orderStatusKey,
  reportProgressUpdate,
  resendWebhooksSignal,
  saveAgainSignal,
} from './messages';
import { orderDetails } from './order-details';
import { OrderEntity } from './order-entity';

/** One order, from its creation until it is SUCCESSFUL or UNSUCCESSFUL and settled. */
export async function orderWorkflow(input: OrderWorkflowInput): Promise<WorkflowOrder> {
  const deliveries = new DeliveryQueue();
  const decisions = new DecisionPoller();
  const replaced = 'history' in input ? undefined : input.previous?.reason;
  const order = new OrderEntity('history' in input ? input.history : undefined, deliveries, publishState);

  // Handlers are registered before the first await. A message that arrives while the row is read waits for it.
  setHandler(getOrderQuery, () => order.saved?.order ?? null);
  setHandler(cancelOrderUpdate, (payload: unknown) => order.update(toUncheckedRequest(payload, 'operator', 'cancel')), {
    validator: (payload: unknown) => order.validate(toUncheckedRequest(payload, 'operator', 'cancel')),
  });
  setHandler(reportProgressUpdate, (payload: unknown) => order.update(toUncheckedRequest(payload, 'checkout')), {
    validator: (payload: unknown) => order.validate(toUncheckedRequest(payload, 'checkout')),
  });
  setHandler(cancelSignal, (payload) => order.signal(toUncheckedRequest(payload, 'operator', 'cancel')));
  setHandler(customerProgressSignal, (payload) => order.signal(toUncheckedRequest(payload, 'checkout')));
  setHandler(resendWebhooksSignal, () => CancellationScope.nonCancellable(() => order.addResends()));
  setHandler(saveAgainSignal, () => CancellationScope.nonCancellable(() => order.bringRowForward()));
  setHandler(applicationSubmittedSignal, () => decisions.request());
  // A cancellation request ("Request cancellation" in the UI) is an operator's cancel of the order.
  CancellationScope.current().cancelRequested.catch(() =>
    order.signal(toUncheckedRequest({ reason: 'cancellation requested in Temporal' }, 'operator', 'cancel')),
  );

  return CancellationScope.nonCancellable(async () => {
    const orderId = 'history' in input ? input.history.order.id : input.orderId;
    const previous = 'history' in input ? undefined : input.previous;
    if (!order.saved && (await order.load(orderId, previous)).applicationPending) decisions.request();
    publishState();
    expireOrder(order).catch(order.fail);
    decisions.run(order, mustStop, publishState).catch(order.fail);
    while (!isDone()) {
      if (deliveries.isEmpty) await condition(() => !deliveries.isEmpty || isDone());
      else if (!(await deliveries.step(mustStop))) await order.bringRowForward();
      publishState();
    }
    if (order.failure !== undefined) {
      await condition(() => order.isIdle);
      throw order.failure;
    }
    if (!isSettled()) await continueAsNew<typeof orderWorkflow>({ orderId });
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

  /** Shows operators what has been saved and what is in progress. */
  function publishState(): void {
    const { status } = order.loaded.order;
    setCurrentDetails(orderDetails(order.loaded, deliveries.describe(), decisions.describe(), replaced));
    if (workflowInfo().typedSearchAttributes.get(orderStatusKey) !== status) {
      upsertSearchAttributes([{ key: orderStatusKey, value: status }]);
    }
  }
}
