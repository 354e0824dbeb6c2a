import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { getOrderQuery } from '../../workflows/messages';
import type { orderWorkflow } from '../../workflows/order-workflow';
import type { OrderState } from '../domain/order';
import { workflowId } from './workflow-options';

/** An order's workflow as Temporal holds it. */
export interface InspectedWorkflow {
  running: boolean;
  /** The state that the run holds or has returned; undefined if it does not respond in time. */
  state: OrderState | undefined;
}

/**
 * Inspects the newest run of an order's workflow. A completed run is read without a worker.
 * @param timeoutMs for each of two calls
 * @returns undefined if there is no run, or its retention has ended
 */
export async function inspectWorkflow(
  client: Client,
  orderId: string,
  timeoutMs: number,
): Promise<InspectedWorkflow | undefined> {
  const within = <T>(call: () => Promise<T>): Promise<T> => client.withDeadline(Date.now() + timeoutMs, call);
  const { workflow } = client;
  try {
    const { status, runId } = await within(() => workflow.getHandle(workflowId(orderId)).describe());
    const handle = workflow.getHandle<typeof orderWorkflow>(workflowId(orderId), runId);
    if (status.name === 'COMPLETED') return { running: false, state: await within(() => handle.result()) };
    const state = await within(() => handle.query(getOrderQuery)).catch(() => null);
    return { running: status.name === 'RUNNING', state: state ?? undefined };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
