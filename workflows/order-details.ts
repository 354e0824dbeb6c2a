import { toCodeSpan } from '../src/domain/markdown';
import { formatPence } from '../src/domain/money';
import type { WorkflowOrderHistory } from '../src/domain/order';
import { type OrderStatus, isFinal } from '../src/domain/status';
import { formatTime } from './format-time';

const NEXT: Record<OrderStatus, string> = {
  CREATED: 'the customer opens the checkout and starts the signup',
  PENDING: 'the decision on the customer: approved or declined',
  APPROVED: 'the customer completes the order',
  SUCCESSFUL: 'nothing: the seller is paid',
  UNSUCCESSFUL: 'nothing: the order has ended',
};

/**
 * What is in progress for an order. `delivery`: the webhook that is sent next; undefined if there is none. `decision`:
 * the state of the request to the lender or the bank; undefined if there is none. `replaced`: why this run replaced
 * another one; null or undefined if it did not.
 */
interface Progress {
  delivery?: string | undefined;
  decision?: string | undefined;
  replaced?: string | null | undefined;
}

/** Returns the workflow's current details in the Temporal UI, in markdown. */
export function orderDetails(
  { order, changes }: WorkflowOrderHistory,
  { delivery, decision, replaced }: Progress,
): string {
  const lines = [
    `- ${formatPence(order.amountPence)} for ${toCodeSpan(order.sellerName)}, reference ${toCodeSpan(order.reference)}`,
    `- Next: ${NEXT[order.status]}`,
  ];
  if (decision !== undefined) lines.push(`- Decision: ${decision}`);
  if (order.cancelledAt !== null) lines.push(`- Cancelled at ${formatTime(order.cancelledAt)}`);
  if (order.expiresAt !== null && !isFinal(order.status)) lines.push(`- Expires at ${formatTime(order.expiresAt)}`);
  lines.push(`- Webhooks: ${delivery ?? 'none pending'}`);
  if (replaced != null) lines.push(`- This run replaced another one: ${toCodeSpan(replaced)}`);
  const last = changes.at(-1);
  if (last) {
    const why = last.reason === null ? '' : ` (${toCodeSpan(last.reason)})`;
    lines.unshift(
      `**${order.status}** since ${formatTime(last.at)}: \`${last.event}\` by ${last.actor} through ${last.channel}${why}`,
      '',
    );
  }
  return lines.join('\n');
}
