import { status } from '@grpc/grpc-js';
import { type Client, isGrpcServiceError } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import {
  accountModeKey,
  orderReferenceKey,
  orderStatusKey,
  sellerIdKey,
  ORDER_TASK_QUEUE,
  WEBHOOK_TASK_QUEUE,
} from '../../workflows/messages';

const KEYWORD = temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD;
export const SEARCH_ATTRIBUTES = [orderStatusKey, sellerIdKey, orderReferenceKey, accountModeKey].map(
  ({ name }) => name,
);
const RETENTION_DAYS = 30;

/** Creates the namespace if it is missing. For local servers: operators create the namespaces of a cluster. */
export async function ensureNamespace(client: Client): Promise<void> {
  try {
    await client.workflowService.registerNamespace({
      namespace: client.options.namespace,
      workflowExecutionRetentionPeriod: { seconds: (RETENTION_DAYS * 86_400) as never },
    });
  } catch (error) {
    if (!alreadyExists(error)) throw error;
  }
}

export async function missingSearchAttributes(client: Client): Promise<string[]> {
  const { namespace } = client.options;
  const { customAttributes } = await client.connection.operatorService.listSearchAttributes({ namespace });
  return SEARCH_ATTRIBUTES.filter((name) => !(name in customAttributes));
}

/**
 * Creates the missing search attributes by which operators find orders.
 * @throws if the server does not allow it (Temporal Cloud): operators create them there
 */
export async function ensureSearchAttributes(client: Client): Promise<void> {
  const missing = await missingSearchAttributes(client);
  if (missing.length === 0) return;
  try {
    await client.connection.operatorService.addSearchAttributes({
      namespace: client.options.namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
    });
  } catch (error) {
    // Another worker that starts at the same time may have created them.
    if (!alreadyExists(error)) throw error;
  }
}

function alreadyExists(error: unknown): boolean {
  return isGrpcServiceError(error) && error.code === status.ALREADY_EXISTS;
}

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

/**
 * Counts the workers that poll a task queue, by this machine's clock. No call returns Temporal's, and by the newest poll,
 * workers that have all stopped would count for minutes.
 */
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
