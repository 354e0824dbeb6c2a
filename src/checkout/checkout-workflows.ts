import type { Client } from '@temporalio/client';
import { CHECKOUT_TASK_QUEUE, checkoutWorkflowId, proceedSignal } from '../../workflows/checkout-messages';
import type { checkoutWorkflow } from '../../workflows/checkout-workflow';
import type { Order } from '../domain/order';
import type { TemporalCalls } from '../temporal/calls';

export { CHECKOUT_TASK_QUEUE };

/** Selects the runs whose workflow tasks keep failing. */
const STUCK =
  "WorkflowType = 'checkoutWorkflow' and ExecutionStatus = 'Running' " +
  "and TemporalReportedProblems in ('category=WorkflowTaskFailed')";
/** For the list of them. */
const LIST_TIMEOUT_MS = 10_000;

type Started = Pick<Order, 'id' | 'sellerId'>;

/**
 * The client side of the checkout's workflows.
 * @param startTimeoutMs the time for a call
 */
export function createCheckoutWorkflows(
  { workflow }: Client,
  { startTimeoutMs }: { startTimeoutMs: number },
  { within, callIfUp }: TemporalCalls,
) {
  return {
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

    /** Terminates runs that cannot go on. `start` begins their checkouts again, from the tables. @returns their ids */
    terminateStuck: (): Promise<string[]> =>
      within(LIST_TIMEOUT_MS, async () => {
        const ids: string[] = [];
        for await (const { workflowId, runId } of workflow.list({ query: STUCK })) {
          await workflow.getHandle(workflowId, runId).terminate('its workflow tasks keep failing');
          ids.push(workflowId);
        }
        return ids;
      }),
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
