import { setTimeout as delay } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import {
  type Client,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { type SignalDefinition, ApplicationFailure } from '@temporalio/common';
import {
  BEHIND_ROW,
  ORDER_TASK_QUEUE,
  REFUSED,
  applicationSubmittedSignal,
  cancelOrderUpdate,
  getOrderQuery,
  reportProgressUpdate,
  resendWebhooksSignal,
  saveAgainSignal,
} from '../../workflows/messages';
import type { orderWorkflow } from '../../workflows/order-workflow';
import type { webhookTestWorkflow } from '../../workflows/webhook-test-workflow';
import { RECOVERY_REASONS } from '../domain/recovery-reason';
import type { WebhookTestInput } from '../domain/webhook';
import {
  type ChangeRequest,
  type Order,
  type OrderHistory,
  type OrderState,
  type PreviousRun,
  type VersionedRequest,
  WORKFLOW_ID_PREFIX,
  workflowId,
} from '../domain/order';
import { type Channel, type OrderStatus, isFinal } from '../domain/status';
import { trackBreaker } from '../telemetry/metrics';
import type { WebhookTestAttempt } from '../webhooks/attempt';
import { createAvailability } from './availability';
import { grpcErrorOf } from './grpc-errors';
import { type InspectedWorkflow, agreesWithRow, inspectWorkflow } from './inspect-workflow';
import { firstStartOptions, resumeOptions } from './workflow-options';

/** Failure type of an update whose run ended before it completed the update. */
const RUN_ENDED = 'AcceptedUpdateCompletedWorkflow';
/** The 15 s of an attempt, plus the wait for a free slot. */
const TEST_TIMEOUT_MS = 28_000;
/** For a page of a list. */
const LIST_TIMEOUT_MS = 10_000;
type WorkflowStart = ReturnType<typeof firstStartOptions> | ReturnType<typeof resumeOptions>;
/** Selects the order workflows in a list of Temporal. */
const ORDERS = "WorkflowType = 'orderWorkflow'";
const MAX_TRIES = 4;
/** Gives a run that is about to close the time to do so. */
const RETRY_DELAY_MS = 200;

/** The workflow refused the change. Nothing changed. */
export class ChangeRefused extends Error {
  constructor(
    message: string,
    /** The order's status, which does not allow the change. */
    readonly status: OrderStatus,
  ) {
    super(message);
  }
}

/** An order as its row holds it. */
export interface StartableOrder extends OrderHistory {
  /** False if its workflow has probably not been started. */
  started: boolean;
}

export interface OpenRun {
  orderId: string;
  startedAt: Date;
}

/** The client side of the order workflows. Each call has a deadline. */
export interface OrderWorkflows {
  /**
   * Starts an order's workflow. Does nothing if the order has ever had one.
   * @param delayMs how long the workflow waits for a first message before it runs
   */
  start(history: OrderHistory, delayMs: number): Promise<void>;
  /** Reads the newest run from the server; undefined if there is none. Needs no worker. */
  inspect(orderId: string, timeoutMs: number): Promise<InspectedWorkflow | undefined>;
  /** True if the newest run certainly agrees with the row, at the cost of one call that reads no history. */
  agrees(row: OrderHistory, settled: boolean, timeoutMs: number): Promise<boolean>;
  /** Starts a run that reads the order's row, unless a workflow runs. */
  resume(order: Order, previous: PreviousRun): Promise<void>;
  /** Makes the workflow save its changes again, because the row lacks some. */
  saveAgain(orderId: string): Promise<void>;
  /** Notifies the workflow that resends are requested in Postgres. Resumes it if none runs. */
  resendWebhooks(order: Order, channel: Channel): Promise<void>;
  /** Notifies the workflow that an application is submitted in Postgres. Resumes it if none runs. */
  applicationSubmitted(order: Order, channel: Channel): Promise<void>;
  /**
   * Sends a test webhook from a worker. Rejects if no worker could send it in time.
   * @throws TemporalUnavailable, within a second
   */
  testWebhook(input: WebhookTestInput): Promise<WebhookTestAttempt>;
  /** Terminates a run. Does nothing if it has closed in the meantime. */
  terminate(orderId: string, runId: string, reason: string): Promise<void>;
  /** The ids of orders whose run may need the sweep: it was closed by force after `closedAfter`, or its tasks keep failing. */
  findBroken(closedAfter: Date): AsyncIterable<string>;
  /**
   * The orders with an open run, the newest run first.
   * @param startedBy only runs that started then or before; undefined: all
   */
  listOpen(startedBy: Date | undefined): AsyncIterator<OpenRun, undefined>;
  /** The ids of all orders that have a run, once per run. */
  list(selection: { sellerId?: string | undefined; since?: Date | undefined }): AsyncIterable<string>;
  /** The state that the workflow holds; null while it waits for a first message, or a resumed run reads the row. */
  query(orderId: string, timeoutMs: number): Promise<OrderState | null>;
  /**
   * Makes the workflow change the order. Starts or resumes it if none runs.
   * @param row as it was read: a repeated call that read the same version joins the first one
   * @returns the state once the change is saved
   * @throws ChangeRefused, or TemporalUnavailable if the call was not made; after any other error the outcome is unknown
   */
  change(row: StartableOrder, request: ChangeRequest): Promise<OrderState>;
  /** Resolves when the calls in flight have ended. A call that retries on a closed connection would end the process. */
  drain(): Promise<void>;
}

/** Times in ms. */
export function createOrderWorkflows(
  client: Client,
  {
    startTimeoutMs,
    updateTimeoutMs,
    encryptPayloads,
  }: { startTimeoutMs: number; updateTimeoutMs: number; encryptPayloads: boolean },
): OrderWorkflows {
  const inFlight = new Set<Promise<unknown>>();
  const availability = createAvailability(client);
  trackBreaker('temporal', () => Number(availability.isKnownDown));
  const within = <T>(timeoutMs: number, call: () => Promise<T>): Promise<T> => {
    const calling = client.withDeadline(Date.now() + timeoutMs, call).finally(() => inFlight.delete(calling));
    inFlight.add(calling);
    return calling;
  };

  /** For calls that a caller waits for. Refused at once while Temporal is known to be unavailable. */
  const unlessDown = <T>(timeoutMs: number, call: () => Promise<T>): Promise<T> =>
    availability.call(() => within(timeoutMs, call));

  const inspect = (orderId: string): Promise<InspectedWorkflow | undefined> => inspectWorkflow(client, orderId);

  /** Options of a run that follows the newest one, for a request that came through `channel`. */
  const resuming = async (order: Order, channel: Channel) =>
    resumeOptions(order, toPrevious(await inspect(order.id), order, channel), encryptPayloads);

  /** @param start how to start a run, if a new run may be needed */
  async function update(
    order: Order,
    request: ChangeRequest,
    updateId: string,
    start: WorkflowStart | undefined,
  ): Promise<OrderState> {
    const definition = request.event === 'cancel' ? cancelOrderUpdate : reportProgressUpdate;
    const args: [VersionedRequest] = [{ ...request, observedVersion: order.version }];
    const options = { updateId, args };
    if (!start) return client.workflow.getHandle(workflowId(order.id)).executeUpdate(definition, options);
    const startWorkflowOperation = new WithStartWorkflowOperation<typeof orderWorkflow>('orderWorkflow', {
      ...start,
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
    return client.workflow.executeUpdateWithStart(definition, { ...options, startWorkflowOperation });
  }

  async function signal(order: Order, definition: SignalDefinition, channel: Channel): Promise<void> {
    await within(startTimeoutMs, async () => {
      try {
        await client.workflow.getHandle(workflowId(order.id)).signal(definition);
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
        await client.workflow.signalWithStart<typeof orderWorkflow>('orderWorkflow', {
          ...(await resuming(order, channel)),
          signal: definition,
        });
      }
    });
  }

  async function* listRuns(query: string): AsyncGenerator<OpenRun, undefined> {
    const runs = client.workflow.list({ query })[Symbol.asyncIterator]();
    for (;;) {
      const run = await within(LIST_TIMEOUT_MS, () => runs.next());
      if (run.done === true) return undefined;
      yield { orderId: run.value.workflowId.slice(WORKFLOW_ID_PREFIX.length), startedAt: run.value.startTime };
    }
  }

  async function* listOrderIds(query: string): AsyncGenerator<string> {
    for await (const { orderId } of listRuns(query)) yield orderId;
  }

  return {
    async drain() {
      await Promise.allSettled([availability.end(), ...inFlight]);
    },

    async start(history, delayMs) {
      try {
        await within(startTimeoutMs, () =>
          client.workflow.start<typeof orderWorkflow>(
            'orderWorkflow',
            firstStartOptions(history, delayMs, encryptPayloads),
          ),
        );
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      }
    },

    inspect: (orderId, timeoutMs) => within(timeoutMs, () => inspect(orderId)),

    agrees: (row, settled, timeoutMs) => within(timeoutMs, () => agreesWithRow(client, row, settled)),

    async resume(order, previous) {
      await within(startTimeoutMs, () =>
        client.workflow.start<typeof orderWorkflow>('orderWorkflow', resumeOptions(order, previous, encryptPayloads)),
      );
    },

    async saveAgain(orderId) {
      await within(startTimeoutMs, () => client.workflow.getHandle(workflowId(orderId)).signal(saveAgainSignal));
    },

    resendWebhooks: (order, channel) => signal(order, resendWebhooksSignal, channel),

    applicationSubmitted: (order, channel) => signal(order, applicationSubmittedSignal, channel),

    testWebhook(input) {
      return unlessDown(TEST_TIMEOUT_MS, () =>
        client.workflow.execute<typeof webhookTestWorkflow>('webhookTestWorkflow', {
          taskQueue: ORDER_TASK_QUEUE,
          workflowId: `webhook-test-${input.webhookId}`,
          workflowExecutionTimeout: TEST_TIMEOUT_MS,
          args: [input],
        }),
      );
    },

    async terminate(orderId, runId, reason) {
      try {
        await within(startTimeoutMs, () => client.workflow.getHandle(workflowId(orderId), runId).terminate(reason));
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    },

    list: ({ sellerId, since }) =>
      listOrderIds(
        ORDERS +
          (sellerId === undefined ? '' : ` and SellerId = '${sellerId}'`) +
          (since === undefined ? '' : ` and StartTime >= '${since.toISOString()}'`),
      ),

    listOpen: (startedBy) =>
      listRuns(
        `${ORDERS} and ExecutionStatus = 'Running'` +
          (startedBy ? ` and StartTime <= '${startedBy.toISOString()}'` : ''),
      ),

    async *findBroken(closedAfter) {
      yield* listOrderIds(
        `${ORDERS} and ExecutionStatus in ('Terminated', 'Failed', 'TimedOut', 'Canceled') and CloseTime > '${closedAfter.toISOString()}'`,
      );
      yield* listOrderIds(
        `${ORDERS} and ExecutionStatus = 'Running' and ` +
          "TemporalReportedProblems in ('category=WorkflowTaskFailed', 'category=WorkflowTaskTimedOut')",
      );
    },

    async query(orderId, timeoutMs) {
      try {
        return await within(timeoutMs, () => client.workflow.getHandle(workflowId(orderId)).query(getOrderQuery));
      } catch (error) {
        if (isNotScheduled(error)) return null;
        throw error;
      }
    },

    async change(row, request) {
      const { order, started } = row;
      return unlessDown(updateTimeoutMs, async () => {
        // The workflow of a final order has probably ended; any other probably runs.
        let start: WorkflowStart | undefined;
        if (!started) start = firstStartOptions(row, 0, encryptPayloads);
        else if (isFinal(order.status)) start = await resuming(order, request.channel);
        let updateId = `${request.event}:${order.version}`;
        for (let tries = 1; ; tries++) {
          try {
            return await update(order, request, updateId, start);
          } catch (error) {
            throwIfRefused(error);
            if (!hasEnded(error) || tries === MAX_TRIES) throw error;
            // The server returns the outcome of an update even after its run has ended: the next run needs another id.
            updateId = `${request.event}:${order.version}:${tries}`;
            await delay(RETRY_DELAY_MS);
            start = await resuming(order, request.channel);
          }
        }
      });
    },
  };
}

/**
 * What the run that follows a closed or missing one has to know. A run that still runs is not replaced.
 * @param channel of the request that starts it
 */
export function toPrevious(run: InspectedWorkflow | undefined, { status }: Order, channel: Channel): PreviousRun {
  // Temporal deletes closed runs after its retention.
  if (!run) return { saved: null, reason: isFinal(status) ? null : RECOVERY_REASONS.missing, channel };
  return { saved: run.saved ?? null, reason: run.problem, channel };
}

function throwIfRefused(error: unknown): void {
  if (!(error instanceof WorkflowUpdateFailedError) || !(error.cause instanceof ApplicationFailure)) return;
  const { type, message, details } = error.cause;
  if (type === REFUSED) throw new ChangeRefused(message, details?.[0] as OrderStatus);
}

/** True if a query met a run that still waits for its first message. */
function isNotScheduled(error: unknown): boolean {
  const { code, details } = grpcErrorOf(error) ?? {};
  return code === status.FAILED_PRECONDITION && details?.includes('Workflow task is not scheduled yet') === true;
}

/** True if the workflow's run has ended, so that another run has to make the change. */
function hasEnded(error: unknown): boolean {
  if (error instanceof WorkflowNotFoundError || error instanceof WorkflowExecutionAlreadyStartedError) return true;
  return (
    error instanceof WorkflowUpdateFailedError &&
    error.cause instanceof ApplicationFailure &&
    (error.cause.type === RUN_ENDED || error.cause.type === BEHIND_ROW)
  );
}
