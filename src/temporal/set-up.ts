import { status } from '@grpc/grpc-js';
import { type Client, isGrpcServiceError } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import {
  accountModeKey,
  orderReferenceKey,
  orderStatusKey,
  sellerIdKey,
  webhookStateKey,
} from '../../workflows/messages';

const KEYWORD = temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD;
export const SEARCH_ATTRIBUTES = [orderStatusKey, sellerIdKey, orderReferenceKey, accountModeKey, webhookStateKey].map(
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

/**
 * Creates the missing search attributes by which operators find orders.
 * @throws if the server does not allow it (Temporal Cloud): operators create them there
 */
export async function ensureSearchAttributes(client: Client): Promise<void> {
  const { namespace } = client.options;
  const { operatorService } = client.connection;
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
  const missing = SEARCH_ATTRIBUTES.filter((name) => !(name in customAttributes));
  if (missing.length === 0) return;
  try {
    await operatorService.addSearchAttributes({
      namespace,
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
