import { TypedSearchAttributes } from '@temporalio/common';
import {
  ORDER_TASK_QUEUE,
  accountModeKey,
  orderReferenceKey,
  orderStatusKey,
  sellerIdKey,
  workflowId,
} from '../../workflows/messages';
import { formatPence } from '../domain/money';
import type { Order } from '../domain/order';
import { isFinal } from '../domain/status';
import { escapeControls } from '../domain/escape-controls';

/** If a worker dies during a workflow task, another worker gets the task after this. The SDK's default is 10 s. */
const TASK_TIMEOUT = '5 seconds';

/**
 * Options of every run of an order's workflow: how operators find and recognize the order in the Temporal UI. If a run
 * is open, it is used.
 * @param isEncrypted omits the reference as a search attribute, because Temporal stores those in clear
 */
export function orderOptions(order: Order, isEncrypted: boolean) {
  return {
    taskQueue: ORDER_TASK_QUEUE,
    workflowId: workflowId(order.id),
    // The run of an open order completes only if the row is that of a restored backup: it must not begin again from there.
    workflowIdReusePolicy: isFinal(order.status) ? 'ALLOW_DUPLICATE' : 'ALLOW_DUPLICATE_FAILED_ONLY',
    workflowIdConflictPolicy: 'USE_EXISTING',
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
  } as const;
}

/** Text from outside as a markdown code span: the Temporal UI shows it unchanged and makes no link of a URL in it. */
export function toCodeSpan(text: string): string {
  return `\`${escapeControls(text).replaceAll('`', '\\u0060')}\``;
}
