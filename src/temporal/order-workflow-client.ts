import { setTimeout as delay } from 'node:timers/promises';
import {
  type Client,
  type WorkflowStartOptions,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure, TypedSearchAttributes } from '@temporalio/common';
import { status } from '@grpc/grpc-js';
import type { NoticeActivities } from '../../activities/notice-activities';
import type { WebhookActivities } from '../../activities/webhook-activities';
import {
  type OrderWorkflowInput,
  CHANGE_REFUSED,
  ORDER_TASK_QUEUE,
  ROW_BEHIND,
  ROW_CHANGED,
  WEBHOOK_TASK_QUEUE,
  WORKFLOW_ID_PREFIX,
  accountModeKey,
  changeOrderUpdate,
  getOrderQuery,
  orderReferenceKey,
  orderStatusKey,
  resendWebhookSignal,
  sellerIdKey,
  workflowId,
} from '../../workflows/messages';
import type { orderWorkflow } from '../../workflows/order-workflow';
import type { resendWebhooksWorkflow } from '../../workflows/resend-webhooks-workflow';
import { limitPerKey } from '../concurrency';
import { formatPence } from '../domain/money';
import { type ChangeRequest, type Order, type OrderState, stateOf, isFinal } from '../domain/order';
import { escapeControls } from '../domain/text';
import type { WebhookSelection } from '../domain/webhook';
import { currentRequestContext } from '../telemetry/current-request-context';
import type { WebhookTestAttempt } from '../webhooks/send';
import { type TemporalCalls, NothingChanged, TooManyChanges, createTemporalCalls, grpcErrorOf } from './calls';
import { type RunKind, createRunLists } from './list-runs';

/**
 * Changes of one seller's orders that run at the same time in this process; further ones wait. Each takes the workers and
 * Temporal several steps, so those of one seller must not hold up the others'.
 */
const CHANGES_AT_ONCE = 10;
const MAX_WAIT_MS = 10_000;
/** The 15 s of an attempt, plus the wait for a free slot. */
const TEST_TIMEOUT_MS = 28_000;

/** The workflow refused the change, or has completed. The row shows why. */
export class ChangeRefused extends NothingChanged {}

/** A workflow with this id is running. It continues, and nothing was started. */
export class AlreadyRunning extends Error {}

/** The run closed before it answered. The row shows whether it has made the change. */
export class RunClosed extends Error {}

export const ORDER_RUNS: RunKind = {
  workflowType: 'orderWorkflow',
  idPrefix: WORKFLOW_ID_PREFIX,
  taskQueue: ORDER_TASK_QUEUE,
};

/** The client side of the order workflows. Each call has a deadline. A change and a resend start a run if none is open. */
export type OrderWorkflows = ReturnType<typeof createOrderWorkflows>;

/** The newest run of an order's workflow. */
export type DescribedRun = NonNullable<Awaited<ReturnType<OrderWorkflows['describe']>>>;

/** Times in ms. */
export function createOrderWorkflows(
  client: Client,
  {
    startTimeoutMs,
    updateTimeoutMs,
    encryptPayloads,
  }: { startTimeoutMs: number; updateTimeoutMs: number; encryptPayloads: boolean },
  { within, callIfUp, track, drain }: TemporalCalls = createTemporalCalls(client),
) {
  const { workflow } = client;
  /** Orders that this process is starting. */
  const starting = new Map<string, Promise<unknown>>();
  const changes = limitPerKey(
    CHANGES_AT_ONCE,
    MAX_WAIT_MS,
    new TooManyChanges("too many changes of the seller's orders wait"),
  );

  /** Options of a run that reads the row: callers may have read it before it changed. */
  const fromRow = (order: Order) => ({
    ...orderOptions(order, encryptPayloads),
    args: [{ orderId: order.id }] as [OrderWorkflowInput],
  });

  /** @returns false if a run exists that does not let another one start: nothing was started */
  const startRun = (options: WorkflowStartOptions<typeof orderWorkflow>): Promise<boolean> =>
    isStartedBy(within(startTimeoutMs, () => workflow.start<typeof orderWorkflow>('orderWorkflow', options)));

  async function update(order: Order, request: ChangeRequest): Promise<OrderState> {
    const startWorkflowOperation = new WithStartWorkflowOperation<typeof orderWorkflow>(
      'orderWorkflow',
      fromRow(order),
    );
    const args: [ChangeRequest] = [{ ...request, context: currentRequestContext() }];
    const start = starting.get(order.id);
    // A run that a change starts has to read the row. If the start hangs, the change still has half of its time.
    if (start)
      await Promise.race([start, delay(updateTimeoutMs / 2, undefined, { ref: false })]).catch(() => undefined);
    try {
      return await workflow.executeUpdateWithStart(changeOrderUpdate, { args, startWorkflowOperation });
    } catch (error) {
      throw toChangeError(error);
    }
  }

  return {
    ...createRunLists(client, within, ORDER_RUNS),

    drain,

    /**
     * Starts an order's workflow.
     * @param delayMs how long the workflow waits for a first message before it runs; a plain signal does not end the wait
     */
    async start(order: Order, delayMs: number): Promise<void> {
      const untilExpiry = order.expiresAt === null ? Infinity : Date.parse(order.expiresAt) - Date.now();
      const startDelay = Math.round(Math.min(delayMs, untilExpiry));
      const call = startRun({
        ...orderOptions(order, encryptPayloads),
        // A start that arrives after the order has closed does nothing.
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        ...(startDelay > 0 && { startDelay }),
        // An order with changes may have pending webhooks too: its run reads the row.
        args: [{ orderId: order.id, ...(order.version === 1 && { state: stateOf(order.changes, order.expiresAt) }) }],
      });
      starting.set(order.id, call);
      await call.finally(() => starting.delete(order.id));
    },

    /**
     * Starts a run that reads the row. The row must not lack changes of the last run.
     * @returns false if a run is open: nothing was started
     */
    resume: (order: Order): Promise<boolean> =>
      startRun({
        ...fromRow(order),
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        workflowIdConflictPolicy: 'FAIL',
      }),

    /** Asks the newest run for the order; undefined if there is none, or it has not read the row yet. */
    async query(orderId: string, timeoutMs: number): Promise<OrderState | undefined> {
      try {
        const handle = workflow.getHandle(workflowId(orderId));
        return (await within(timeoutMs, () => handle.query(getOrderQuery))) ?? undefined;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError || isNotStarted(error)) return undefined;
        throw error;
      }
    },

    /** Reads the newest run from the server; undefined if there is none. Needs no worker. */
    async describe(orderId: string, timeoutMs: number) {
      try {
        const run = await within(timeoutMs, () => workflow.getHandle(workflowId(orderId)).describe());
        const sellerId = run.typedSearchAttributes.get(sellerIdKey);
        const { name } = run.status;
        const isPending = (activity: string): boolean =>
          run.raw.pendingActivities?.some(({ activityType }) => activityType?.name === activity) ?? false;
        return {
          runId: run.runId,
          isRunning: name === 'RUNNING',
          hasCompleted: name === 'COMPLETED',
          isDelivering: isPending('sendWebhook'),
          /** The row may have a change that the run shows once this has ended. */
          isSaving: isPending('saveChange'),
          sellerId,
        };
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return undefined;
        throw error;
      }
    },

    /**
     * Makes the workflow change the order.
     * @returns the state once the change is saved
     * @throws RunClosed, or NothingChanged, such as ChangeRefused; after any other error the outcome is unknown
     */
    change: (order: Order, request: ChangeRequest): Promise<OrderState> =>
      track(changes.run(order.sellerId, () => callIfUp(updateTimeoutMs, () => update(order, request)))),

    /**
     * Sends a webhook of the order once more.
     * @returns false if the order has completed since `order` was read, or waits for `reconcile`: nothing is sent
     * @throws NothingChanged
     */
    resendWebhook(order: Order, webhookId: string): Promise<boolean> {
      const signalling = callIfUp(startTimeoutMs, () =>
        workflow.signalWithStart<typeof orderWorkflow, [string]>('orderWorkflow', {
          ...fromRow(order),
          signal: resendWebhookSignal,
          signalArgs: [webhookId],
        }),
      );
      return isStartedBy(signalling);
    },

    /**
     * Resends many webhooks, some a second. One such workflow runs at a time for a seller, and one for all sellers.
     * @returns the id of the workflow that does it
     * @throws NothingChanged, or AlreadyRunning if the one before has not ended
     */
    async resendWebhooks(selection: WebhookSelection): Promise<string> {
      const { sellerId } = selection;
      const resendId = `resend-webhooks-${sellerId ?? 'all-sellers'}`;
      const starting = callIfUp(startTimeoutMs, () =>
        workflow.start<typeof resendWebhooksWorkflow>('resendWebhooksWorkflow', {
          taskQueue: ORDER_TASK_QUEUE,
          workflowId: resendId,
          ...(sellerId !== undefined && {
            priority: { fairnessKey: sellerId },
            typedSearchAttributes: new TypedSearchAttributes([{ key: sellerIdKey, value: sellerId }]),
          }),
          args: [selection],
        }),
      );
      if (await isStartedBy(starting)) return resendId;
      throw new AlreadyRunning(`the workflow ${resendId} is already running: wait for its end, or cancel it`);
    },

    /** Has the seller's contact told what is due about an endpoint, unless that is under way. */
    async tellSeller(endpoint: Parameters<NoticeActivities['tellSeller']>[0]): Promise<void> {
      await callIfUp(startTimeoutMs, () =>
        client.activity.typed<NoticeActivities>().start('tellSeller', {
          id: `endpoint-notice-${endpoint.sellerId}-${endpoint.origin}`,
          idConflictPolicy: 'USE_EXISTING',
          taskQueue: ORDER_TASK_QUEUE,
          args: [endpoint],
          startToCloseTimeout: '1 minute',
          retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '10 minutes' },
        }),
      );
    },

    /**
     * Sends a test webhook from the workers that send all webhooks, so that the same addresses and rules apply. Its URL,
     * which may be a credential, is in Postgres only. Rejects if no worker could send it in time.
     * @throws NothingChanged, within a second
     */
    testWebhook: (webhookId: string): Promise<WebhookTestAttempt> =>
      callIfUp(TEST_TIMEOUT_MS, () =>
        client.activity.typed<WebhookActivities>().execute('sendTestWebhook', {
          id: `webhook-test-${webhookId}`,
          taskQueue: WEBHOOK_TASK_QUEUE,
          args: [webhookId],
          scheduleToCloseTimeout: '25 seconds',
          startToCloseTimeout: '20 seconds',
          retry: { initialInterval: '500 milliseconds', maximumInterval: '2 seconds' },
          summary: 'test webhook',
        }),
      ),
  };
}

/** @returns false if a run with this id exists that does not let another one start: the call did nothing */
async function isStartedBy(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

/** What an update that failed has done to the order; the error itself if that is unknown. */
function toChangeError(error: unknown): unknown {
  if (error instanceof WorkflowExecutionAlreadyStartedError) return new ChangeRefused('the last run has completed');
  const failure = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
  const { type, message } = failure instanceof ApplicationFailure ? failure : {};
  if (type === CHANGE_REFUSED) return new ChangeRefused(message);
  if (type === ROW_BEHIND) return new NothingChanged(message);
  const hasClosed =
    error instanceof WorkflowNotFoundError ||
    // The server dropped the update: the task that handled it was to close the run, and a signal came meanwhile.
    grpcErrorOf(error)?.code === status.FAILED_PRECONDITION ||
    type === 'AcceptedUpdateCompletedWorkflow' ||
    type === ROW_CHANGED;
  return hasClosed ? new RunClosed('the run has closed', { cause: error }) : error;
}

/** How Temporal says that no worker has begun a run: it waits for its start delay, or was terminated before. */
const NOT_STARTED = /Workflow task is not scheduled yet|closed before WorkflowTaskStarted/;

function isNotStarted(error: unknown): boolean {
  const { code, details } = grpcErrorOf(error) ?? {};
  // The code is the same for a run that no worker serves now, and for one whose tasks fail.
  return code === status.FAILED_PRECONDITION && NOT_STARTED.test(details ?? '');
}

/** If a worker dies during a workflow task, another worker gets the task after this. The SDK's default is 10 s. */
const TASK_TIMEOUT = '5 seconds';

/**
 * Options of every run of an order's workflow: how operators find and recognize the order in the Temporal UI. If a run
 * is open, it is used.
 * @param isEncrypted omits the reference as a search attribute, because Temporal stores those in clear
 */
function orderOptions(order: Order, isEncrypted: boolean) {
  return {
    taskQueue: ORDER_TASK_QUEUE,
    workflowId: workflowId(order.id),
    // If the last run has completed, an open row was read before, or is that of a restored backup: nothing is started.
    workflowIdReusePolicy: isFinal(order.status) ? 'ALLOW_DUPLICATE' : 'ALLOW_DUPLICATE_FAILED_ONLY',
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowTaskTimeout: TASK_TIMEOUT,
    // While tasks wait for a worker, sellers take turns.
    priority: { fairnessKey: order.sellerId },
    staticSummary:
      `${order.sandbox ? 'Sandbox: ' : ''}${formatPence(order.amountPence)} for ` +
      `${toCodeSpan(order.sellerName)}, reference ${toCodeSpan(order.reference)}`,
    typedSearchAttributes: new TypedSearchAttributes([
      { key: orderStatusKey, value: order.status },
      { key: sellerIdKey, value: order.sellerId },
      ...(isEncrypted ? [] : [{ key: orderReferenceKey, value: order.reference }]),
      { key: accountModeKey, value: order.sandbox ? 'sandbox' : 'live' },
    ]),
  } as const;
}

/** Text from outside as a markdown code span: the Temporal UI shows it unchanged and makes no link of a URL in it. */
export function toCodeSpan(text: string): string {
  return `\`${escapeControls(text).replaceAll('`', '\\u0060')}\``;
}
