import type { Command } from 'commander';
import { type ListedPayment, listPayments } from '../checkout/db/payments';
import { penceToPounds } from '../domain/money';
import { integer } from './arguments';
import { requireOrderIds } from './selection';
import { type Row, print } from './output';
import type { Services } from './services';

interface ListOptions {
  order?: string;
  toReverse?: true;
  limit: number;
}

export function addPaymentCommands(program: Command, services: Services): void {
  program
    .command('payment')
    .description('inspect what customers have paid in the hosted checkout')
    .command('list')
    .description('list payments, newest first')
    .option('--order <order>', 'only payments of orders with this id or reference')
    .option('--to-reverse', 'only payments that have to be cancelled or refunded, because they bought nothing')
    .option('--limit <number>', 'maximum number of payments', integer(1, 10_000), 50)
    .action(async ({ order, toReverse, limit }: ListOptions, command: Command) => {
      const orderIds = order === undefined ? undefined : await requireOrderIds(services, order);
      const payments = await listPayments(services.db(), { orderIds, toReverse }, limit);
      await print(
        command,
        payments.map((payment) => ({
          ...toPaymentRow(payment),
          order_id: payment.orderId,
          seller_id: payment.sellerId,
          reference: payment.reference,
          order_status: payment.orderStatus,
        })),
      );
    });
}

/** A payment of an order that is known. */
export function toPaymentRow({ id, amountPence, bank, status, startedAt, closedAt }: ListedPayment): Row {
  return {
    payment_id: id,
    amount: penceToPounds(amountPence),
    bank,
    status,
    started_at: startedAt,
    closed_at: closedAt,
  };
}
