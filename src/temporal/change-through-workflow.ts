import { setTimeout as delay } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import {
  type Client,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import {
  BEHIND_ROW_FAILURE,
  CHANGE_REFUSED_FAILURE,
  VERSION_DIFFERS_FAILURE,
  cancelOrderUpdate,
  reportProgressUpdate,
} from '../../workflows/messages';
import type { orderWorkflow } from '../../workflows/order-workflow';
import {
  type ChangeRequest,
  type Order,
  type OrderHistory,
  type OrderState,
  type VersionedRequest,
  workflowId,
} from '../domain/order';
import { type OrderStatus, isFinal } from '../domain/status';
import { grpcErrorOf } from './grpc-errors';
import type { firstStartOptions, resumeOptions } from './workflow-options';

/** Failure type of an update whose run ended before it completed the update. */
const RUN_ENDED = 'AcceptedUpdateCompletedWorkflow';
const MAX_TRIES = 4;
/** Gives a run that is about to close the time to do so. */
const RETRY_DELAY_MS = 200;

type WorkflowStart = ReturnType<typeof firstStartOptions> | ReturnType<typeof resumeOptions>;

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

/** The change is for another version of the order. Nothing changed. */
export class VersionDiffers extends Error {
  constructor(
    message: string,
    readonly version: number,
  ) {
    super(message);
  }
}

/** An order as its row holds it. */
export interface StartableOrder extends OrderHistory {
  /** False if its workflow has probably not been started. */
  started: boolean;
}

/**
 * Makes the workflow change the order. Starts or resumes it if none runs.
 * @param options of the order's first run, and of a run that follows the newest one
 * @throws ChangeRefused or VersionDiffers
 */
export async function changeThroughWorkflow(
  client: Client,
  { order, started }: StartableOrder,
  request: ChangeRequest,
  options: { first: () => WorkflowStart; next: () => Promise<WorkflowStart> },
): Promise<OrderState> {
  // The workflow of a final order has probably ended; any other probably runs.
  let start: WorkflowStart | undefined;
  if (!started) start = options.first();
  else if (isFinal(order.status)) start = await options.next();
  // A call for certain versions must not join one for any.
  const firstId = [request.event, order.version, ...(request.ifVersion ?? [])].join(':');
  let updateId = firstId;
  let dropped: Error | undefined;
  for (let tries = 1; ; tries++) {
    try {
      return await update(client, order, request, updateId, start);
    } catch (error) {
      // After a drop, the run may refuse what the row has already. Only the caller's next call reads the row again.
      const refusal = refusalOf(error);
      if (refusal) throw dropped ?? refusal;
      if (wasDropped(error)) dropped = error;
      else if (!hasEnded(error)) throw error;
      if (tries === MAX_TRIES) throw error;
      await delay(RETRY_DELAY_MS);
      if (error === dropped) continue;
      // The server returns the outcome of an update even after its run has ended: the next run needs another id.
      updateId = `${firstId}:retry-${tries}`;
      start = await options.next();
    }
  }
}

/** @param start how to start a run, if a new run may be needed */
async function update(
  client: Client,
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

function refusalOf(error: unknown): ChangeRefused | VersionDiffers | undefined {
  if (!(error instanceof WorkflowUpdateFailedError) || !(error.cause instanceof ApplicationFailure)) return undefined;
  const { type, message, details } = error.cause;
  if (type === VERSION_DIFFERS_FAILURE) return new VersionDiffers(message, details?.[0] as number);
  return type === CHANGE_REFUSED_FAILURE ? new ChangeRefused(message, details?.[0] as OrderStatus) : undefined;
}

/**
 * True if the server dropped the update: the task that handled it was to close the run, and a signal came meanwhile.
 * The server repeats such a task without its updates. The change may be saved already: a repeated update adopts it.
 */
function wasDropped(error: unknown): error is Error {
  return grpcErrorOf(error)?.code === status.FAILED_PRECONDITION;
}

/** True if the workflow's run has ended, so that another run has to make the change. */
function hasEnded(error: unknown): boolean {
  if (error instanceof WorkflowNotFoundError || error instanceof WorkflowExecutionAlreadyStartedError) return true;
  return (
    error instanceof WorkflowUpdateFailedError &&
    error.cause instanceof ApplicationFailure &&
    (error.cause.type === RUN_ENDED || error.cause.type === BEHIND_ROW_FAILURE)
  );
}
