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
import {
  type Order,
  type OrderHistory,
  type PreviousRun,
  type WorkflowOrderHistory,
  toWorkflowOrderHistory,
  workflowId,
} from '../domain/order';

type OrderStartOptions = Omit<WorkflowStartOptions<typeof orderWorkflow>, 'args'> & { workflowId: string };

/** If a worker dies during a workflow task, another worker gets the task after this. The SDK's default is 10 s. */
const TASK_TIMEOUT = '5 seconds';

/**
 * Options of every run: how operators find and recognize the order in the Temporal UI.
 * @param isEncrypted omits the reference as a search attribute, because Temporal stores those in clear
 */
function startOptions(order: Order, isEncrypted: boolean): OrderStartOptions {
  return {
    taskQueue: ORDER_TASK_QUEUE,
    workflowId: workflowId(order.id),
    workflowTaskTimeout: TASK_TIMEOUT,
    // While tasks wait for a worker, sellers take turns.
    priority: { fairnessKey: order.sellerId },
    staticSummary:
      `${order.sandbox ? 'Sandbox: ' : ''}${formatPence(order.amountPence)} for ` +
      `${toCodeSpan(order.sellerName)}, reference ${toCodeSpan(order.reference)}`,
    typedSearchAttributes: new TypedSearchAttributes([
      { key: orderStatusKey, value: order.status },
      { key: sellerIdKey, value: order.sellerId },
      ...(isEncrypted ? [] : [{ key: orderReferenceKey, value: order.reference }]),
      { key: accountModeKey, value: order.sandbox ? 'sandbox' : 'live' },
    ]),
  };
}

/**
 * Options of an order's first run. The server refuses them if the order has ever had a run.
 * @param delayMs how long it waits for a first message. An update, a cancellation request or a signal-with-start ends
 *   the wait; a plain signal and a query do not
 */
export function firstStartOptions(history: OrderHistory, delayMs: number, isEncrypted: boolean) {
  const { expiresAt } = history.order;
  const untilExpiry = expiresAt === null ? Infinity : Date.parse(expiresAt) - Date.now();
  const startDelay = Math.round(Math.min(delayMs, untilExpiry));
  return {
    ...startOptions(history.order, isEncrypted),
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    ...(startDelay > 0 && { startDelay }),
    args: [{ history: toWorkflowOrderHistory(history) }] as [{ history: WorkflowOrderHistory }],
  } as const;
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
