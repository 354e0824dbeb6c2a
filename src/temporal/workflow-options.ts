import type { WorkflowStartOptions } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import {
  ORDER_TASK_QUEUE,
  accountModeKey,
  orderReferenceKey,
  orderStatusKey,
  sellerIdKey,
} from '../../workflows/messages';
import type { orderWorkflow } from '../../workflows/order-workflow';
import { toCodeSpan } from '../domain/markdown';
import { formatPence } from '../domain/money';
import type { Order, PreviousRun } from '../domain/order';

type OrderStartOptions = Omit<WorkflowStartOptions<typeof orderWorkflow>, 'args'> & { workflowId: string };

export const WORKFLOW_ID_PREFIX = 'order-';

export function workflowId(orderId: string): string {
  return `${WORKFLOW_ID_PREFIX}${orderId}`;
}

/**
 * Options of every run: how operators find and recognise the order in the Temporal UI.
 * @param isEncrypted omits the reference as a search attribute, because Temporal stores those in clear
 */
export function startOptions(order: Order, isEncrypted: boolean): OrderStartOptions {
  return {
    taskQueue: ORDER_TASK_QUEUE,
    workflowId: workflowId(order.id),
    staticSummary: `${order.sandbox ? 'Sandbox: ' : ''}${formatPence(order.amountPence)} for ${toCodeSpan(order.sellerName)}, reference ${toCodeSpan(order.reference)}`,
    typedSearchAttributes: new TypedSearchAttributes([
      { key: orderStatusKey, value: order.status },
      { key: sellerIdKey, value: order.sellerId },
      ...(isEncrypted ? [] : [{ key: orderReferenceKey, value: order.reference }]),
      { key: accountModeKey, value: order.sandbox ? 'sandbox' : 'live' },
    ]),
  };
}

/** Options of a run that resumes an order. It reads the row, so that stale callers do no harm. */
export function resumeOptions(order: Order, previous: PreviousRun, isEncrypted: boolean) {
  return {
    ...startOptions(order, isEncrypted),
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    workflowIdConflictPolicy: 'USE_EXISTING',
    args: [{ orderId: order.id, previous }] as [{ orderId: string; previous: PreviousRun }],
  } as const;
}
