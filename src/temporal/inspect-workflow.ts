import { type Client, type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import { orderStatusKey, sellerIdKey } from '../../workflows/messages';
import { type WorkflowOrderHistory, workflowId } from '../domain/order';
import { RECOVERY_REASONS } from '../domain/recovery-reason';
import type { UncheckedRequest } from '../domain/unchecked-request';
import { decodeAll } from './payload-codec';
import {
  closeReason,
  lastSaved,
  previousRun,
  taskFailure,
  unprocessedRequests,
  waitsForPostgres,
} from './read-history';

/** A run whose workflow task has failed this often in a row does not recover by itself within seconds. */
const STUCK_ATTEMPTS = 4;
/** The activity that is retried as long as the lender or the bank is unavailable, beside the webhooks. */
const DECISION_ACTIVITY = 'askForDecision';

/** The newest run of an order's workflow as the Temporal server holds it. */
export interface InspectedWorkflow {
  runId: string;
  running: boolean;
  /**
   * The order as the run last saved it, or read it from the row; undefined until then. If it has closed before that, as
   * the run before it saved it.
   */
  saved: WorkflowOrderHistory | undefined;
  /** From the search attribute; undefined if it is missing. */
  sellerId: string | undefined;
  /** Why a run does not work: how it closed, or that its workflow tasks fail. Null if it runs or has completed. */
  failureReason: string | null;
  /**
   * True while an activity, such as a webhook attempt, runs or is retried, a worker has yet to act on an event, or the
   * run waits to repeat a failed call to Postgres. A call to the lender or the bank does not count.
   */
  isBusy: boolean;
  /** @see unprocessedRequests */
  unprocessed: UncheckedRequest[];
}

/**
 * Inspects the newest run of an order's workflow. It reads the server's history, not a query: a query needs a worker,
 * and a worker's cache hides that the server was restored from an older backup.
 * @returns undefined if there is no run, or its retention has ended
 */
export async function inspectWorkflow(
  { workflow, options }: Client,
  orderId: string,
): Promise<InspectedWorkflow | undefined> {
  try {
    const description = await workflow.getHandle(workflowId(orderId)).describe();
    const history = await workflow.getHandle(workflowId(orderId), description.runId).fetchHistory();
    const events = history.events ?? [];
    await decodeAll(options.loadedDataConverter.payloadCodecs, events);
    const saved = lastSaved(events);
    const previous = previousRun(events);
    const running = description.status.name === 'RUNNING';
    return {
      runId: description.runId,
      running,
      saved: saved ?? (running ? undefined : (previous?.saved ?? undefined)),
      sellerId: description.typedSearchAttributes.get(sellerIdKey),
      failureReason: running ? stuckReason(description, taskFailure(events)) : closeReason(events),
      isBusy: isDelivering(description) || description.raw.pendingWorkflowTask != null || waitsForPostgres(events),
      unprocessed: unprocessedRequests(events, saved, previous),
    };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** The newest run of an order's workflow, as the server describes it without its history. */
export interface DescribedWorkflow {
  running: boolean;
  /** True if it has completed: its order was settled. */
  completed: boolean;
  /** True if its workflow tasks keep failing. */
  stuck: boolean;
  /**
   * The status that it has saved, or began with. It proves the version too, unless it is UNSUCCESSFUL: orders become that
   * at several versions.
   */
  orderStatus: string | undefined;
}

/**
 * Describes the newest run of an order's workflow. Costs one call, which needs no worker and reads no history.
 * @returns undefined if there is no run, or its retention has ended
 */
export async function describeWorkflow({ workflow }: Client, orderId: string): Promise<DescribedWorkflow | undefined> {
  try {
    const description = await workflow.getHandle(workflowId(orderId)).describe();
    return {
      running: description.status.name === 'RUNNING',
      completed: description.status.name === 'COMPLETED',
      stuck: stuckReason(description, '') !== null,
      orderStatus: description.typedSearchAttributes.get(orderStatusKey),
    };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

function isDelivering({ raw }: WorkflowExecutionDescription): boolean {
  return raw.pendingActivities?.some(({ activityType }) => activityType?.name !== DECISION_ACTIVITY) ?? false;
}

function stuckReason({ raw }: WorkflowExecutionDescription, failure: string): string | null {
  const attempts = raw.pendingWorkflowTask?.attempt ?? 0;
  return attempts < STUCK_ATTEMPTS ? null : `${RECOVERY_REASONS.stuck}${failure}`;
}
