import { escapeMarkdown } from '../src/domain/markdown';
import { formatPence } from '../src/domain/money';
import type { OrderHistory } from '../src/domain/order';
import type { OrderStatus } from '../src/domain/status';

const NEXT: Record<OrderStatus, string> = {
  CREATED: 'the customer opens the checkout and starts the signup',
  PENDING: 'the decision on the customer: approved or declined',
  APPROVED: 'the customer completes the order',
  SUCCESSFUL: 'nothing: the seller is paid',
  UNSUCCESSFUL: 'nothing: the order has ended',
};

/** What an operator reads on the workflow's page, in markdown. */
export function orderDetails({ order, changes }: OrderHistory, delivery?: string, decision?: string): string {
  const last = changes.at(-1);
  const why = last?.reason == null ? '' : ` (${escapeMarkdown(last.reason)})`;
  return [
    `**${order.status}** since ${last?.at ?? order.createdAt}: \`${last?.event ?? 'created'}\` by ${last?.actor ?? 'seller'}${why}`,
    '',
    `- ${formatPence(order.amountPence)} for ${escapeMarkdown(order.sellerName)}, reference ${escapeMarkdown(order.reference)}`,
    `- Next: ${NEXT[order.status]}${decision === undefined ? '' : ` (${decision})`}`,
    ...(order.cancelledAt === null ? [] : [`- Cancelled at ${order.cancelledAt}`]),
    ...(order.expiresAt === null || order.status === 'SUCCESSFUL' || order.status === 'UNSUCCESSFUL'
      ? []
      : [`- Expires at ${order.expiresAt}`]),
    `- Webhooks: ${delivery ?? (order.webhookUrl === null ? 'no address was given' : 'all settled')}`,
  ].join('\n');
}
