import type { Client } from '@temporalio/client';
import { orderStatusKey } from '../../workflows/messages';
import { WORKFLOW_ID_PREFIX } from '../domain/order';
import { isUuid } from '../domain/uuid';

/** For a page of a list. */
const LIST_TIMEOUT_MS = 10_000;
/** For a page of a list for which an operator waits: a store that has just been restored can be slow. */
const FULL_LIST_TIMEOUT_MS = 60_000;
/** Selects the order workflows in a list of Temporal. */
const ORDERS = "WorkflowType = 'orderWorkflow'";
/** Selects those whose workflow tasks keep failing. */
const STUCK =
  `${ORDERS} and ExecutionStatus = 'Running' and ` +
  "TemporalReportedProblems in ('category=WorkflowTaskFailed', 'category=WorkflowTaskTimedOut')";

/** A run as Temporal lists it: what has just changed may be missing. */
export interface ListedRun {
  orderId: string;
  /** When an open run started, or a closed one closed: lists are sorted by it. */
  at: Date;
  /** The order's status that the run has published last. */
  status: string | undefined;
}

/** Lists of the runs of order workflows. Runs that a person has started with other workflow ids are left out. */
export interface RunLists {
  /** The ids of orders whose run was closed by force after `closedAfter`: it failed or was terminated. */
  findClosedByForce(closedAfter: Date): AsyncIterable<string>;
  /** The ids of orders whose open run's workflow tasks keep failing. */
  findStuck(): AsyncIterable<string>;
  /** Counts the open runs whose workflow tasks keep failing. */
  countStuck(): Promise<number>;
  /**
   * The orders with an open run, the newest run first.
   * @param startedBy only runs that started then or before; undefined: all
   */
  listOpen(startedBy: Date | undefined): AsyncIterator<ListedRun, undefined>;
  /**
   * The orders whose runs have completed, the last one first.
   * @param closedBy only runs that closed then or before; undefined: all
   */
  listCompleted(closedBy: Date | undefined): AsyncIterator<ListedRun, undefined>;
  /** The ids of all orders that have a run, once per run. */
  list(selection: { sellerId?: string | undefined; since?: Date | undefined }): AsyncIterable<string>;
}

export async function countStuckRuns({ workflow }: Client): Promise<number> {
  return (await workflow.count(STUCK)).count;
}

/** @param within makes a call with a deadline */
export function createRunLists(
  client: Client,
  within: <T>(timeoutMs: number, call: () => Promise<T>) => Promise<T>,
): RunLists {
  async function* listRuns(query: string, timeoutMs = LIST_TIMEOUT_MS): AsyncGenerator<ListedRun, undefined> {
    const runs = client.workflow.list({ query })[Symbol.asyncIterator]();
    for (;;) {
      const run = await within(timeoutMs, () => runs.next());
      if (run.done === true) return undefined;
      const { workflowId, startTime, closeTime, typedSearchAttributes } = run.value;
      const orderId = workflowId.slice(WORKFLOW_ID_PREFIX.length);
      if (workflowId.startsWith(WORKFLOW_ID_PREFIX) && isUuid(orderId))
        yield { orderId, at: closeTime ?? startTime, status: typedSearchAttributes.get(orderStatusKey) };
    }
  }

  async function* listOrderIds(query: string, timeoutMs?: number): AsyncGenerator<string> {
    for await (const { orderId } of listRuns(query, timeoutMs)) yield orderId;
  }

  return {
    list: ({ sellerId, since }) =>
      listOrderIds(
        ORDERS +
          (sellerId === undefined ? '' : ` and SellerId = '${sellerId}'`) +
          (since === undefined ? '' : ` and StartTime >= '${since.toISOString()}'`),
        FULL_LIST_TIMEOUT_MS,
      ),

    listOpen: (startedBy) =>
      listRuns(
        `${ORDERS} and ExecutionStatus = 'Running'` +
          (startedBy ? ` and StartTime <= '${startedBy.toISOString()}'` : ''),
      ),

    listCompleted: (closedBy) =>
      listRuns(
        `${ORDERS} and ExecutionStatus = 'Completed'` +
          (closedBy ? ` and CloseTime <= '${closedBy.toISOString()}'` : ''),
      ),

    countStuck: () => within(LIST_TIMEOUT_MS, () => countStuckRuns(client)),

    findClosedByForce: (closedAfter) =>
      listOrderIds(
        `${ORDERS} and ExecutionStatus in ('Terminated', 'Failed', 'TimedOut', 'Canceled') ` +
          `and CloseTime > '${closedAfter.toISOString()}'`,
      ),

    findStuck: () => listOrderIds(STUCK),
  };
}
