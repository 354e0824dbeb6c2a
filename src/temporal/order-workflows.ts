import { setTimeout as delay } from 'node:timers/promises';
import type { Client, WorkflowStartOptions } from '@temporalio/client';
import {
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import type { SignalDefinition } from '@temporalio/common';
import { ApplicationFailure, TypedSearchAttributes } from '@temporalio/common';
import {
  BEHIND_ROW,
  REFUSED,
  applicationSubmittedSignal,
  cancelOrderUpdate,
  getOrderQuery,
  orderReferenceKey,
  orderStatusKey,
  reportProgressUpdate,
  resendWebhooksSignal,
  sellerIdKey,
} from '../../workflows/messages';
import type { orderWorkflow } from '../../workflows/order';
import type { webhookTestWorkflow } from '../../workflows/webhook-test';
import type { WebhookTestInput } from '../domain/webhook';
import { escapeMarkdown } from '../domain/markdown';
import { formatPence } from '../domain/money';
import type { ChangeRequest, Order, OrderHistory, VersionedRequest } from '../domain/order';
import type { OrderStatus } from '../domain/status';
import { isFinal } from '../domain/status';
import type { WebhookTestAttempt } from '../webhooks/attempt';
import { ORDER_TASK_QUEUE } from './connection';

/** An update comes back with this where the run ended under it. */
const ENDED_UNDER_UPDATE = 'AcceptedUpdateCompletedWorkflow';
/** An attempt's 15 s with a wait for a free slot. */
const TEST_TIMEOUT_MS = 28_000;
const MAX_TRIES = 4;
/** A run that says it is over needs a moment to close. */
const TRY_AGAIN_MS = 200;

interface UpdateTry {
  /** Whether to start a run where there is none. */
  resume: boolean;
  updateId: string;
}

/** The workflow refused the change; nothing was changed. */
export class ChangeRefused extends Error {
  constructor(
    message: string,
    /** The status that the change met. */
    readonly status: OrderStatus,
  ) {
    super(message);
  }
}

export interface OrderWorkflows {
  /** The first start. Harmless where the workflow was started before, even if it has ended since. */
  start(history: OrderHistory): Promise<void>;
  /** Makes sure that a workflow runs; a new run is given the id alone and reads the row itself. */
  resume(order: Order): Promise<void>;
  /** Has the workflow send the webhooks that are marked for it in Postgres, resuming it where none runs. */
  resendWebhooks(order: Order): Promise<void>;
  /** Has the workflow ask the lender for the decision that Postgres lacks, resuming it where none runs. */
  applicationSubmitted(order: Order): Promise<void>;
  /** Has a worker send a test webhook; rejects where none could in time. */
  testWebhook(input: WebhookTestInput): Promise<WebhookTestAttempt>;
  /** Ends a run that is behind its row; `resume` follows it with one that reads the row. */
  stop(orderId: string, reason: string): Promise<void>;
  /** What the workflow shows; null while a resumed run reads the row. */
  query(orderId: string, timeoutMs: number): Promise<Order | null>;
  /**
   * Has the workflow make a change, resuming it where none runs.
   * @param order as it was met: a repeat of a call that met the same version joins the first one
   * @returns the order once the change is saved
   * @throws ChangeRefused; anything else leaves the outcome unknown
   */
  change(order: Order, request: ChangeRequest): Promise<Order>;
  /** Resolves when the calls in flight have ended: one that tries again on a closed connection ends the process. */
  drain(): Promise<void>;
}

export function workflowId(orderId: string): string {
  return `order-${orderId}`;
}

/** The client side of the order workflow. Times in ms. */
export function createOrderWorkflows(
  client: Client,
  { startTimeoutMs, updateTimeoutMs }: { startTimeoutMs: number; updateTimeoutMs: number },
): OrderWorkflows {
  const inFlight = new Set<Promise<unknown>>();
  const within = <T>(timeoutMs: number, call: () => Promise<T>): Promise<T> => {
    const calling = client.withDeadline(Date.now() + timeoutMs, call).finally(() => inFlight.delete(calling));
    inFlight.add(calling);
    return calling;
  };

  async function update(order: Order, request: ChangeRequest, { resume, updateId }: UpdateTry): Promise<Order> {
    const definition = request.event === 'cancel' ? cancelOrderUpdate : reportProgressUpdate;
    const args: [VersionedRequest] = [{ ...request, observedVersion: order.version }];
    const options = { updateId, args };
    if (!resume) return client.workflow.getHandle(workflowId(order.id)).executeUpdate(definition, options);
    const startWorkflowOperation = new WithStartWorkflowOperation<typeof orderWorkflow>(
      'orderWorkflow',
      resumeOptions(order),
    );
    return client.workflow.executeUpdateWithStart(definition, { ...options, startWorkflowOperation });
  }

  async function signal(order: Order, definition: SignalDefinition): Promise<void> {
    await within(startTimeoutMs, () =>
      client.workflow.signalWithStart<typeof orderWorkflow>('orderWorkflow', {
        ...resumeOptions(order),
        signal: definition,
      }),
    );
  }

  return {
    async drain() {
      await Promise.allSettled(inFlight);
    },

    async start(history) {
      try {
        await within(startTimeoutMs, () =>
          client.workflow.start<typeof orderWorkflow>('orderWorkflow', {
            ...startOptions(history.order),
            workflowIdReusePolicy: 'REJECT_DUPLICATE',
            args: [{ history }],
          }),
        );
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      }
    },

    async resume(order) {
      await within(startTimeoutMs, () =>
        client.workflow.start<typeof orderWorkflow>('orderWorkflow', resumeOptions(order)),
      );
    },

    resendWebhooks: (order) => signal(order, resendWebhooksSignal),

    applicationSubmitted: (order) => signal(order, applicationSubmittedSignal),

    testWebhook(input) {
      return within(TEST_TIMEOUT_MS, () =>
        client.workflow.execute<typeof webhookTestWorkflow>('webhookTestWorkflow', {
          taskQueue: ORDER_TASK_QUEUE,
          workflowId: `webhook-test-${input.webhookId}`,
          workflowExecutionTimeout: TEST_TIMEOUT_MS,
          args: [input],
        }),
      );
    },

    async stop(orderId, reason) {
      await within(startTimeoutMs, () => client.workflow.getHandle(workflowId(orderId)).terminate(reason));
    },

    query(orderId, timeoutMs) {
      return within(timeoutMs, () => client.workflow.getHandle(workflowId(orderId)).query(getOrderQuery));
    },

    async change(order, request) {
      return within(updateTimeoutMs, async () => {
        // A final order's workflow has most likely ended; any other's most likely runs.
        let resume = isFinal(order.status);
        let updateId = `${request.event}:${order.version}`;
        for (let tries = 1; ; tries++) {
          try {
            return await update(order, request, { resume, updateId });
          } catch (error) {
            throwIfRefused(error);
            if (!hasEnded(error) || tries === MAX_TRIES) throw error;
            resume = true;
            // The server gives the outcome of an update also after the end of its run: another run needs another id.
            updateId = `${request.event}:${order.version}:${tries}`;
            await delay(TRY_AGAIN_MS);
          }
        }
      });
    },
  };
}

function startOptions(order: Order): Omit<WorkflowStartOptions<typeof orderWorkflow>, 'args'> & { workflowId: string } {
  return {
    taskQueue: ORDER_TASK_QUEUE,
    workflowId: workflowId(order.id),
    staticSummary: `${escapeMarkdown(order.sellerName)}: ${formatPence(order.amountPence)}, reference ${escapeMarkdown(order.reference)}`,
    typedSearchAttributes: new TypedSearchAttributes([
      { key: orderStatusKey, value: order.status },
      { key: sellerIdKey, value: order.sellerId },
      { key: orderReferenceKey, value: order.reference },
    ]),
  };
}

function resumeOptions(order: Order) {
  return {
    ...startOptions(order),
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    workflowIdConflictPolicy: 'USE_EXISTING',
    args: [{ orderId: order.id }] as [{ orderId: string }],
  } as const;
}

function throwIfRefused(error: unknown): void {
  if (!(error instanceof WorkflowUpdateFailedError) || !(error.cause instanceof ApplicationFailure)) return;
  const { type, message, details } = error.cause;
  if (type === REFUSED) throw new ChangeRefused(message, details?.[0] as OrderStatus);
}

function hasEnded(error: unknown): boolean {
  if (error instanceof WorkflowNotFoundError) return true;
  return (
    error instanceof WorkflowUpdateFailedError &&
    error.cause instanceof ApplicationFailure &&
    (error.cause.type === ENDED_UNDER_UPDATE || error.cause.type === BEHIND_ROW)
  );
}
