import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import { getOrderQuery } from '../../workflows/messages';
import type { orderWorkflow } from '../../workflows/order';
import type { Order } from '../domain/order';
import { workflowId } from './order-workflows';

/** An order's workflow as Temporal knows it. */
export interface SeenWorkflow {
  running: boolean;
  /** What it shows, or ended with; undefined where it does not answer in time. */
  order: Order | undefined;
}

/**
 * Looks at the newest run of an order's workflow; one that has completed is read without a worker.
 * @param timeoutMs for each of two calls
 * @returns undefined where there is none, or it is forgotten already
 */
export async function inspectWorkflow(
  client: Client,
  orderId: string,
  timeoutMs: number,
): Promise<SeenWorkflow | undefined> {
  const within = <T>(call: () => Promise<T>): Promise<T> => client.withDeadline(Date.now() + timeoutMs, call);
  const { workflow } = client;
  try {
    const { status, runId } = await within(() => workflow.getHandle(workflowId(orderId)).describe());
    const handle = workflow.getHandle<typeof orderWorkflow>(workflowId(orderId), runId);
    if (status.name === 'COMPLETED') return { running: false, order: await within(() => handle.result()) };
    const shown = await within(() => handle.query(getOrderQuery)).catch(() => null);
    return { running: status.name === 'RUNNING', order: shown ?? undefined };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
