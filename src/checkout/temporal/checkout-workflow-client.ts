import type { Client } from '@temporalio/client';
import {
  CHECKOUT_ID_PREFIX,
  CHECKOUT_TASK_QUEUE,
  checkoutWorkflowId,
  mailWorkflowId,
  proceedSignal,
} from './checkout-messages';
import type { checkoutWorkflow, mailWorkflow } from './checkout-workflow';
import type { Order } from '../../domain/order';
import type { TemporalCalls } from '../../temporal/calls';
import { type RunKind, createRunLists } from '../../temporal/list-runs';

export { CHECKOUT_TASK_QUEUE };

const CHECKOUT_RUNS: RunKind = {
  workflowType: 'checkoutWorkflow',
  idPrefix: CHECKOUT_ID_PREFIX,
  taskQueue: CHECKOUT_TASK_QUEUE,
};

type Started = Pick<Order, 'id' | 'sellerId'>;

/**
 * The client side of the checkout's workflows.
 * @param startTimeoutMs the time for a call
 */
export function createCheckoutWorkflows(
  client: Client,
  { startTimeoutMs }: { startTimeoutMs: number },
  { within, callIfUp }: TemporalCalls,
) {
  const { workflow } = client;
  return {
    ...createRunLists(client, within, CHECKOUT_RUNS),

    /** Makes the order's checkout do its next step, now. @throws NothingChanged */
    async proceed(order: Started): Promise<void> {
      await callIfUp(startTimeoutMs, () =>
        workflow.signalWithStart<typeof checkoutWorkflow>('checkoutWorkflow', {
          ...optionsOf(order),
          signal: proceedSignal,
          signalArgs: [],
        }),
      );
    },

    /** Starts the order's checkout, unless it runs: then it repeats its steps itself. */
    async start(order: Started): Promise<void> {
      await within(startTimeoutMs, () => workflow.start<typeof checkoutWorkflow>('checkoutWorkflow', optionsOf(order)));
    },

    /** Sends the mails that are due to the order's applicant, unless a run does. */
    async sendMails(order: Started): Promise<void> {
      const options = { ...optionsOf(order), workflowId: mailWorkflowId(order.id) };
      await callIfUp(startTimeoutMs, () => workflow.start<typeof mailWorkflow>('mailWorkflow', options));
    },
  };
}

export type CheckoutWorkflows = ReturnType<typeof createCheckoutWorkflows>;

function optionsOf({ id, sellerId }: Started) {
  return {
    taskQueue: CHECKOUT_TASK_QUEUE,
    workflowId: checkoutWorkflowId(id),
    workflowIdConflictPolicy: 'USE_EXISTING' as const,
    priority: { fairnessKey: sellerId },
    args: [id] as [string],
  };
}
