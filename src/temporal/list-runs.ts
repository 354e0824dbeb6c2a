import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { WORKFLOW_ID_PREFIX } from '../../workflows/messages';
import { isUuid } from '../domain/text';

/** For a page of a list. */
const LIST_TIMEOUT_MS = 10_000;
/** For a page of a list for which an operator waits: a store that has just been restored can be slow. */
const FULL_LIST_TIMEOUT_MS = 60_000;
/** Selects the order workflows in a list of Temporal. */
const ORDERS = "WorkflowType = 'orderWorkflow'";
const problemsKey = defineSearchAttributeKey('TemporalReportedProblems', 'KEYWORD_LIST');
const TASK_FAILED = 'category=WorkflowTaskFailed';
const TASK_TIMED_OUT = 'category=WorkflowTaskTimedOut';
/** Selects those whose workflow tasks have failed or timed out several times in a row. */
const STUCK = `${ORDERS} and ExecutionStatus = 'Running' and ${problemsKey.name} in ('${TASK_FAILED}', '${TASK_TIMED_OUT}')`;

/** A run as Temporal lists it: what has just changed may be missing. */
export interface ListedRun {
  orderId: string;
  runId: string;
  /** True if the first of the attempts at a stuck run's task has timed out. Temporal does not report the later ones. */
  hasTimedOut: boolean;
}

/** Counts the open runs whose workflow tasks keep failing or timing out. */
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
      const { workflowId, runId, typedSearchAttributes } = run.value;
      const hasTimedOut = typedSearchAttributes.get(problemsKey)?.includes(TASK_TIMED_OUT) ?? false;
      const orderId = workflowId.slice(WORKFLOW_ID_PREFIX.length);
      if (workflowId.startsWith(WORKFLOW_ID_PREFIX) && isUuid(orderId)) yield { orderId, runId, hasTimedOut };
    }
  }

  return {
    /** Runs that failed, timed out or were terminated or cancelled after `since`. */
    findClosedByForce: (since: Date) =>
      listRuns(
        `${ORDERS} and ExecutionStatus in ('Terminated', 'Failed', 'TimedOut', 'Canceled') ` +
          `and CloseTime > '${since.toISOString()}'`,
      ),

    /** Open runs whose workflow tasks keep failing or timing out. */
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
