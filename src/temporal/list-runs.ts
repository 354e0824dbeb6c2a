import type { Client } from '@temporalio/client';
import { WORKFLOW_ID_PREFIX } from '../../workflows/messages';
import { isUuid } from '../domain/text';

/** For a page of a list. */
const LIST_TIMEOUT_MS = 10_000;
/** For a page of a list for which an operator waits: a store that has just been restored can be slow. */
const FULL_LIST_TIMEOUT_MS = 60_000;
/** Selects the order workflows in a list of Temporal. */
const ORDERS = "WorkflowType = 'orderWorkflow'";
/** Selects those whose workflow tasks keep failing. Tasks that time out show an overloaded worker, and no wedged run. */
const STUCK = `${ORDERS} and ExecutionStatus = 'Running' and TemporalReportedProblems in ('category=WorkflowTaskFailed')`;

/** A run as Temporal lists it: what has just changed may be missing. */
export interface ListedRun {
  orderId: string;
  runId: string;
}

/** Counts the open runs whose workflow tasks keep failing. */
export async function countStuckRuns({ workflow }: Client): Promise<number> {
  return (await workflow.count(STUCK)).count;
}

/**
 * Lists of the runs of order workflows. Runs that a person has started with other workflow ids are left out.
 * @param within makes a call with a deadline
 */
export function createRunLists(client: Client, within: <T>(timeoutMs: number, call: () => Promise<T>) => Promise<T>) {
  async function* listRuns(query: string, timeoutMs = LIST_TIMEOUT_MS): AsyncGenerator<ListedRun> {
    const runs = client.workflow.list({ query })[Symbol.asyncIterator]();
    for (;;) {
      const run = await within(timeoutMs, () => runs.next());
      if (run.done === true) return;
      const { workflowId, runId } = run.value;
      const orderId = workflowId.slice(WORKFLOW_ID_PREFIX.length);
      if (workflowId.startsWith(WORKFLOW_ID_PREFIX) && isUuid(orderId)) yield { orderId, runId };
    }
  }

  return {
    /** Runs that failed, timed out or were terminated or cancelled after `since`. */
    findClosedByForce: (since: Date) =>
      listRuns(
        `${ORDERS} and ExecutionStatus in ('Terminated', 'Failed', 'TimedOut', 'Canceled') ` +
          `and CloseTime > '${since.toISOString()}'`,
      ),

    /** Open runs whose workflow tasks keep failing. */
    findStuck: () => listRuns(STUCK),

    /** True if a run of the order was terminated after `since`. */
    async wasTerminated(orderId: string, since: Date): Promise<boolean> {
      const query =
        `WorkflowId = '${WORKFLOW_ID_PREFIX}${orderId}' and ExecutionStatus = 'Terminated' ` +
        `and CloseTime > '${since.toISOString()}'`;
      return (await within(LIST_TIMEOUT_MS, () => client.workflow.count(query))).count > 0;
    },

    /** All open runs. */
    listOpen: ({ sellerId }: { sellerId?: string | undefined }) =>
      listRuns(
        `${ORDERS} and ExecutionStatus = 'Running'` + (sellerId === undefined ? '' : ` and SellerId = '${sellerId}'`),
        FULL_LIST_TIMEOUT_MS,
      ),
  };
}
