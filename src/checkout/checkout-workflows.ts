import type { Client } from '@temporalio/client';
import { CHECKOUT_TASK_QUEUE, checkoutWorkflowId, proceedSignal } from '../../workflows/checkout-messages';
import type { checkoutWorkflow } from '../../workflows/checkout-workflow';
import type { Order } from '../domain/order';
import type { TemporalCalls } from '../temporal/calls';

export { CHECKOUT_TASK_QUEUE };

/** The client side of the checkout's workflows. */
export interface CheckoutWorkflows {
  /** Makes the order's checkout do its next step, now. @throws CallNotMade */
  proceed(order: Pick<Order, 'id' | 'sellerId'>): Promise<void>;
  /** Starts the order's checkout, unless it runs: then it repeats its steps itself. */
  start(order: Pick<Order, 'id' | 'sellerId'>): Promise<void>;
}

/** @param startTimeoutMs the time for a call */
export function createCheckoutWorkflows(
  { workflow }: Client,
  { startTimeoutMs }: { startTimeoutMs: number },
  { within, callIfUp }: TemporalCalls,
): CheckoutWorkflows {
  return {
    async proceed(order) {
      await callIfUp(startTimeoutMs, () =>
        workflow.signalWithStart<typeof checkoutWorkflow>('checkoutWorkflow', {
          ...optionsOf(order),
          signal: proceedSignal,
          signalArgs: [],
        }),
      );
    },

    async start(order) {
      await within(startTimeoutMs, () => workflow.start<typeof checkoutWorkflow>('checkoutWorkflow', optionsOf(order)));
    },
  };
}

function optionsOf({ id, sellerId }: Pick<Order, 'id' | 'sellerId'>) {
  return {
    taskQueue: CHECKOUT_TASK_QUEUE,
    workflowId: checkoutWorkflowId(id),
    workflowIdConflictPolicy: 'USE_EXISTING' as const,
    priority: { fairnessKey: sellerId },
    args: [id] as [string],
  };
}
