import type { WorkflowStartOptions } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { ORDER_TASK_QUEUE, orderReferenceKey, orderStatusKey, sellerIdKey } from '../../workflows/messages';
import type { orderWorkflow } from '../../workflows/order-workflow';
import { escapeMarkdown } from '../domain/markdown';
import { formatPence } from '../domain/money';
import type { Order } from '../domain/order';

type OrderStartOptions = Omit<WorkflowStartOptions<typeof orderWorkflow>, 'args'> & { workflowId: string };

export function workflowId(orderId: string): string {
  return `order-${orderId}`;
}

/** What a first start and a resumed run have in common: how operators find and recognise the order. */
export function startOptions(order: Order): OrderStartOptions {
  const seller = escapeMarkdown(order.sellerName);
  return {
    taskQueue: ORDER_TASK_QUEUE,
    workflowId: workflowId(order.id),
    staticSummary: `${seller}: ${formatPence(order.amountPence)}, reference ${escapeMarkdown(order.reference)}`,
    typedSearchAttributes: new TypedSearchAttributes([
      { key: orderStatusKey, value: order.status },
      { key: sellerIdKey, value: order.sellerId },
      { key: orderReferenceKey, value: order.reference },
    ]),
  };
}

/** For a run that resumes an order: it gets the id alone and reads the row, so that a stale caller cannot fork it. */
export function resumeOptions(order: Order) {
  return {
    ...startOptions(order),
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    workflowIdConflictPolicy: 'USE_EXISTING',
    args: [{ orderId: order.id }] as [{ orderId: string }],
  } as const;
}
