import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import type { SignalDefinition } from '@temporalio/common';
import {
  ORDER_TASK_QUEUE,
  requestDecisionSignal,
  resendWebhooksSignal,
  saveAgainSignal,
} from '../../workflows/messages';
import type { orderWorkflow } from '../../workflows/order-workflow';
import type { webhookTestWorkflow } from '../../workflows/webhook-test-workflow';
import { WAITED_TOO_LONG, limitPerKey } from '../concurrency/limit-per-key';
import { RECOVERY_REASONS } from '../domain/recovery-reason';
import {
  type ChangeRequest,
  type Order,
  type OrderHistory,
  type OrderState,
  type PreviousRun,
  workflowId,
} from '../domain/order';
import { type Channel, isFinal } from '../domain/status';
import { trackBreaker } from '../telemetry/metrics';
import type { WebhookTestAttempt } from '../webhooks/attempt';
import { TooManyChanges, createAvailability } from './availability';
import { type StartableOrder, changeThroughWorkflow } from './change-through-workflow';
import { type DescribedWorkflow, type InspectedWorkflow, describeWorkflow, inspectWorkflow } from './inspect-workflow';
import { type RunLists, createRunLists } from './list-runs';
import { firstStartOptions, resumeOptions } from './workflow-options';

/**
 * Changes of one seller's orders that run at the same time; further ones wait. Each takes the workers and Temporal
 * several steps, so those of one seller must not hold up the others'.
 */
const CHANGES_AT_ONCE = 10;
const MAX_WAIT_MS = 10_000;

/** The 15 s of an attempt, plus the wait for a free slot. */
const TEST_TIMEOUT_MS = 28_000;

/** The client side of the order workflows. Each call has a deadline. */
export interface OrderWorkflows extends RunLists {
  /**
   * Starts an order's workflow.
   * @param delayMs how long the workflow waits for a first message before it runs
   * @returns false if the order has ever had one: then nothing is done
   */
  start(history: OrderHistory, delayMs: number): Promise<boolean>;
  /** Reads the newest run from the server; undefined if there is none. Needs no worker. */
  inspect(orderId: string, timeoutMs: number): Promise<InspectedWorkflow | undefined>;
  /** Describes the newest run, without its history; undefined if there is none. Needs no worker. */
  describe(orderId: string, timeoutMs: number): Promise<DescribedWorkflow | undefined>;
  /** Starts a run that reads the order's row, unless a workflow runs. */
  resume(order: Order, previous: PreviousRun): Promise<void>;
  /** Makes the workflow save its changes again, because the row lacks some. */
  saveAgain(orderId: string): Promise<void>;
  /** Notifies the workflow that resends are requested in Postgres. Resumes it if none runs. */
  resendWebhooks(order: Order, channel: Channel): Promise<void>;
  /** Notifies the workflow that an application was submitted or a payment was started. Resumes it if none runs. */
  requestDecision(order: Order, channel: Channel): Promise<void>;
  /**
   * Sends a test webhook, which is in Postgres, from a worker. Rejects if no worker could send it in time.
   * @throws CallNotMade, within a second
   */
  testWebhook(webhookId: string): Promise<WebhookTestAttempt>;
  /** Terminates a run. Does nothing if it has closed in the meantime. */
  terminate(orderId: string, runId: string, reason: string): Promise<void>;
  /**
   * Makes the workflow change the order. Starts or resumes it if none runs.
   * @param row as it was read: a repeated call that read the same version joins the first one
   * @returns the state once the change is saved
   * @throws ChangeRefused, or CallNotMade if the call was not made; after any other error the outcome is unknown
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
  const changes = limitPerKey(CHANGES_AT_ONCE, MAX_WAIT_MS);
  trackBreaker('temporal', () => Number(availability.isKnownDown));
  const track = <T>(call: Promise<T>): Promise<T> => {
    const tracked = call.finally(() => inFlight.delete(tracked));
    inFlight.add(tracked);
    return tracked;
  };
  const within = <T>(timeoutMs: number, call: () => Promise<T>): Promise<T> =>
    track(client.withDeadline(Date.now() + timeoutMs, call));

  /** Makes a call for which a caller waits. @throws CallNotMade while Temporal is known to be unavailable */
  const callWithin = <T>(timeoutMs: number, call: () => Promise<T>): Promise<T> =>
    availability.call(() => within(timeoutMs, call));

  /** Changes an order in its seller's turn. */
  async function change(row: StartableOrder, request: ChangeRequest): Promise<OrderState> {
    await availability.waitUntilUp();
    try {
      return await changes.run(row.order.sellerId, () =>
        callWithin(updateTimeoutMs, () =>
          changeThroughWorkflow(client, row, request, {
            first: () => firstStartOptions(row, 0, encryptPayloads),
            next: () => resuming(row.order, request.channel),
          }),
        ),
      );
    } catch (error) {
      throw error === WAITED_TOO_LONG ? new TooManyChanges("too many changes of the seller's orders wait") : error;
    }
  }

  const inspect = (orderId: string): Promise<InspectedWorkflow | undefined> => inspectWorkflow(client, orderId);

  /** Options of a run that follows the newest one, for a request that came through `channel`. */
  const resuming = async (order: Order, channel: Channel) =>
    resumeOptions(order, toPrevious(await inspect(order.id), order, channel), encryptPayloads);

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

  return {
    ...createRunLists(client, within),

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
        return true;
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
        throw error;
      }
    },

    inspect: (orderId, timeoutMs) => within(timeoutMs, () => inspect(orderId)),

    describe: (orderId, timeoutMs) => within(timeoutMs, () => describeWorkflow(client, orderId)),

    async resume(order, previous) {
      await within(startTimeoutMs, () =>
        client.workflow.start<typeof orderWorkflow>('orderWorkflow', resumeOptions(order, previous, encryptPayloads)),
      );
    },

    async saveAgain(orderId) {
      await within(startTimeoutMs, () => client.workflow.getHandle(workflowId(orderId)).signal(saveAgainSignal));
    },

    resendWebhooks: (order, channel) => signal(order, resendWebhooksSignal, channel),

    requestDecision: (order, channel) => signal(order, requestDecisionSignal, channel),

    async testWebhook(webhookId) {
      await availability.waitUntilUp();
      return callWithin(TEST_TIMEOUT_MS, () =>
        client.workflow.execute<typeof webhookTestWorkflow>('webhookTestWorkflow', {
          taskQueue: ORDER_TASK_QUEUE,
          workflowId: `webhook-test-${webhookId}`,
          workflowExecutionTimeout: TEST_TIMEOUT_MS,
          args: [webhookId],
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

    change: (row, request) => track(change(row, request)),
  };
}

/**
 * What the run that follows a closed or missing one has to know. A run that still runs is not replaced.
 * @param channel of the request that starts it
 */
export function toPrevious(run: InspectedWorkflow | undefined, { status }: Order, channel: Channel): PreviousRun {
  // Temporal deletes closed runs after its retention.
  if (!run) return { saved: null, unprocessed: [], reason: isFinal(status) ? null : RECOVERY_REASONS.missing, channel };
  return { saved: run.saved ?? null, unprocessed: run.unprocessed, reason: run.failureReason, channel };
}
