import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { ORDER_TASK_QUEUE, WEBHOOK_TASK_QUEUE } from '../../workflows/messages';

const { TASK_QUEUE_TYPE_ACTIVITY, TASK_QUEUE_TYPE_WORKFLOW } = temporal.api.enums.v1.TaskQueueType;
/** A poller is listed for five minutes after it has stopped. A running one polls again within a minute. */
const ACTIVE_MS = 70_000;

export async function describeServer(client: Client): Promise<{ namespace: string; version: string }> {
  const { namespace } = client.options;
  await client.workflowService.describeNamespace({ namespace });
  const { serverVersion } = await client.workflowService.getSystemInfo({});
  return { namespace, version: serverVersion };
}

/** The task queues that every service has. */
export const TASK_QUEUES = [ORDER_TASK_QUEUE, WEBHOOK_TASK_QUEUE];

/** Counts the workers that poll a task queue. */
export async function countPollers(client: Client, name: string): Promise<number> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name },
    taskQueueType: name === ORDER_TASK_QUEUE ? TASK_QUEUE_TYPE_WORKFLOW : TASK_QUEUE_TYPE_ACTIVITY,
  });
  const since = Date.now() / 1000 - ACTIVE_MS / 1000;
  const active = pollers.filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) >= since);
  return new Set(active.map(({ identity }) => identity)).size;
}
