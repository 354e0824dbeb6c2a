import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { isUuid } from '../domain/text';

/** For a call, such as a page of a list. */
const TIMEOUT_MS = 10_000;
/** For a page of a list for which an operator waits: a store that has just been restored can be slow. */
const FULL_LIST_TIMEOUT_MS = 60_000;
/** A lasting cause must not replace run after run. */
const REPLACE_EVERY_MS = 3_600_000;
/**
 * A run whose task has timed out counts as stuck once it is listed so many times in a row: an overloaded worker is no
 * reason to replace it, but a release that is not deterministic can be, if it began while an old worker held the task.
 */
const TIMED_OUT_ROUNDS = 4;

const problemsKey = defineSearchAttributeKey('TemporalReportedProblems', 'KEYWORD_LIST');
const TASK_FAILED = 'category=WorkflowTaskFailed';
/** The first of the attempts at a task has timed out. Temporal does not report how the later ones end. */
const TASK_TIMED_OUT = 'category=WorkflowTaskTimedOut';

/** A kind of workflow that belongs to an order. */
export interface RunKind {
  workflowType: string;
  /** Of the workflow ids. The rest is the order's id. */
  idPrefix: string;
  /** Of its workers. */
  taskQueue: string;
}

/** Selects the open runs whose workflow tasks have failed or timed out several times in a row. */
const stuckOf = ({ workflowType }: RunKind): string =>
  `WorkflowType = '${workflowType}' and ExecutionStatus = 'Running' ` +
  `and ${problemsKey.name} in ('${TASK_FAILED}', '${TASK_TIMED_OUT}')`;

/** A run as Temporal lists it: what has just changed may be missing. */
interface ListedRun {
  orderId: string;
  runId: string;
}

/** Counts the open runs whose workflow tasks keep failing or timing out. */
export async function countStuckRuns({ workflow }: Client, kind: RunKind): Promise<number> {
  return (await workflow.count(stuckOf(kind))).count;
}

/**
 * Lists of the runs of one kind of workflow. Runs that a person has started with other workflow ids are left out.
 * @param within makes a call with a deadline
 */
export function createRunLists(
  client: Client,
  within: <T>(timeoutMs: number, call: () => Promise<T>) => Promise<T>,
  kind: RunKind,
) {
  const { workflow } = client;
  const { workflowType, idPrefix, taskQueue } = kind;
  /** How many times in a row the runs were listed whose task has timed out. */
  let roundsOf = new Map<string, number>();

  async function* listRuns(query: string, timeoutMs = TIMEOUT_MS): AsyncGenerator<ListedRun & { problems: string[] }> {
    const runs = workflow.list({ query })[Symbol.asyncIterator]();
    for (;;) {
      const run = await within(timeoutMs, () => runs.next());
      if (run.done === true) return;
      const { workflowId, runId, typedSearchAttributes } = run.value;
      const orderId = workflowId.slice(idPrefix.length);
      const problems = typedSearchAttributes.get(problemsKey) ?? [];
      if (workflowId.startsWith(idPrefix) && isUuid(orderId)) yield { orderId, runId, problems };
    }
  }

  /**
   * Returns the time by Temporal's clock, in ms since 1970, which can differ from this machine's: when a worker has last
   * polled the queue for workflow tasks. A poll takes up to a minute. Undefined if none has polled within minutes.
   */
  async function readServerTime(): Promise<number | undefined> {
    const { namespace } = client.options;
    const { pollers } = await within(TIMEOUT_MS, () =>
      client.workflowService.describeTaskQueue({ namespace, taskQueue: { name: taskQueue } }),
    );
    const seconds = Math.max(0, ...pollers.map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0)));
    return seconds > 0 ? seconds * 1000 : undefined;
  }

  return {
    readServerTime,

    /** Runs that failed, timed out or were terminated or cancelled after `since`. */
    findClosedByForce: (since: Date): AsyncGenerator<ListedRun> =>
      listRuns(
        `WorkflowType = '${workflowType}' and ExecutionStatus in ('Terminated', 'Failed', 'TimedOut', 'Canceled') ` +
          `and CloseTime > '${since.toISOString()}'`,
      ),

    /** Open runs whose workflow tasks keep failing. */
    async *findStuck(): AsyncGenerator<ListedRun> {
      const before = roundsOf;
      roundsOf = new Map();
      for await (const { problems, ...run } of listRuns(stuckOf(kind))) {
        const rounds = (before.get(run.runId) ?? 0) + 1;
        roundsOf.set(run.runId, rounds);
        if (!problems.includes(TASK_TIMED_OUT) || rounds >= TIMED_OUT_ROUNDS) yield run;
      }
    },

    /** True if a run of the order was terminated within the last hour, or Temporal's time is not known. */
    async wasJustTerminated(orderId: string): Promise<boolean> {
      const now = await readServerTime();
      if (now === undefined) return true;
      const query =
        `WorkflowId = '${idPrefix}${orderId}' and ExecutionStatus = 'Terminated' ` +
        `and CloseTime > '${new Date(now - REPLACE_EVERY_MS).toISOString()}'`;
      return (await within(TIMEOUT_MS, () => workflow.count(query))).count > 0;
    },

    /** Those of some orders that have an open run. */
    async findOpenAmong(orderIds: readonly string[]): Promise<Set<string>> {
      const ids = orderIds.map((orderId) => `'${idPrefix}${orderId}'`).join(', ');
      const open = new Set<string>();
      if (orderIds.length > 0)
        for await (const { orderId } of listRuns(`ExecutionStatus = 'Running' and WorkflowId in (${ids})`))
          open.add(orderId);
      return open;
    },

    /** All open runs. */
    listOpen: ({ sellerId }: { sellerId?: string | undefined }): AsyncGenerator<ListedRun> =>
      listRuns(
        `WorkflowType = '${workflowType}' and ExecutionStatus = 'Running'` +
          (sellerId === undefined ? '' : ` and SellerId = '${sellerId}'`),
        FULL_LIST_TIMEOUT_MS,
      ),

    /** Terminates a run. Does nothing if it has closed in the meantime. */
    async terminate(orderId: string, runId: string, reason: string): Promise<void> {
      try {
        await within(TIMEOUT_MS, () => workflow.getHandle(idPrefix + orderId, runId).terminate(reason));
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    },
  };
}
