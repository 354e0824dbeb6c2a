import { status } from '@grpc/grpc-js';
import type { Client } from '@temporalio/client';
import { isGrpcServiceError } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { orderReferenceKey, orderStatusKey, sellerIdKey } from '../../workflows/messages';

const KEYWORD = temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD;
export const SEARCH_ATTRIBUTES = [orderStatusKey, sellerIdKey, orderReferenceKey].map(({ name }) => name);
const RETENTION_DAYS = 30;

/** Makes the namespace where it is missing; for a local server, a cluster's namespaces are its operators' business. */
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
 * Makes the search attributes that operators find orders by, where they are missing.
 * @throws where that is not allowed (Temporal Cloud): then they are made by hand
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
    // Two workers that start together: the other one made them.
    if (!alreadyExists(error)) throw error;
  }
}

function alreadyExists(error: unknown): boolean {
  return isGrpcServiceError(error) && error.code === status.ALREADY_EXISTS;
}
