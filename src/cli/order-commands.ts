import { type Command, Option } from 'commander';
import { loadCheckoutBaseUrl } from '../config';
import { CONSTANTS } from '../config/constants';
import { findApplication } from '../checkout/db/applications';
import { listPayments } from '../checkout/db/payments';
import { waitingFor } from '../checkout/db/waiting-for';
import type { Application } from '../checkout/domain/application';
import { toOrderBody } from '../contracts/order-mapper';
import { type OrderFilter, findOrders } from '../db/list-orders';
import type { StoredOrder } from '../db/orders';
import { penceToPounds } from '../domain/money';
import { type OrderStatus, ORDER_STATUSES } from '../domain/order';
import { workflowId } from '../../workflows/messages';
import { toCsv } from '../orders/list-orders';
import { amount, integer, timeOption, uuid } from './arguments';
import { UsageError } from './cli-error';
import { requireAccount, requireOrderArgument } from './selection';
import { toPaymentRow } from './payment-commands';
import { addOrderCancel } from './order-cancel';
import { printTimeline } from './order-timeline';
import { type Row, print, toMode, wantsJson, writeRaw } from './output';
import type { Services } from './services';

/** Of an order: at most one is not over, and each takes a customer a minute. */
const MAX_PAYMENTS = 1000;

interface FilterOptions {
  seller?: string;
  status?: OrderStatus;
  reference?: string;
  amount?: number;
  since?: Date;
  until?: Date;
  completedSince?: Date;
  completedUntil?: Date;
}

interface ListOptions extends FilterOptions {
  after?: string;
  limit: number;
}

export function addOrderCommands(program: Command, services: Services): void {
  const order = program.command('order').description('inspect and cancel the orders of all sellers');
  addShow(order, services);
  addList(order, services);
  addExport(order, services);
  addTimeline(order, services);
  addOrderCancel(order, services);
}

function addShow(order: Command, services: Services): void {
  order
    .command('show')
    .description('show one order, what it waits for, its application and its payments, from Postgres')
    .argument('<order>', 'id, reference or pay link of the order')
    .action(async (id: string, _options: unknown, command: Command) => {
      const checkoutBaseUrl = loadCheckoutBaseUrl(services.env);
      const stored = await requireOrderArgument(services, id);
      const payments = await listPayments(services.db(), { orderIds: [stored.id] }, MAX_PAYMENTS);
      const application = await findApplication(services.db(), stored.id);
      const waiting = await waitingFor(services.db(), [stored.id]);
      await print(command, {
        ...toRow(stored, checkoutBaseUrl),
        waiting_for: waiting.get(stored.id) ?? null,
        applications: application ? [toApplicationRow(application)] : [],
        payments: payments.map(toPaymentRow),
      });
    });
}

function addList(order: Command, services: Services): void {
  addFilter(order.command('list').description('list orders, newest first'))
    .option('--seller <seller-id>', 'only orders of this seller', uuid)
    .option('--after <order>', 'continue after this order, the last one of the previous page')
    .option('--limit <number>', 'maximum number of orders', integer(1, 1000), 50)
    .action(async ({ limit, after, ...options }: ListOptions, command: Command) => {
      const last = after === undefined ? undefined : await requireOrderArgument(services, after);
      const orders = await findOrders(services.db(), { ...toFilter(options), after: last?.id }, limit);
      const waiting = await waitingFor(
        services.db(),
        orders.map(({ id }) => id),
      );
      await print(
        command,
        orders.map((listed) => ({
          id: listed.id,
          seller_id: listed.sellerId,
          seller_name: listed.sellerName,
          mode: toMode(listed.sandbox),
          reference: listed.reference,
          amount: penceToPounds(listed.amountPence),
          status: listed.status,
          waiting_for: waiting.get(listed.id) ?? null,
          created_at: listed.createdAt,
          cancelled_at: listed.cancelledAt,
        })),
      );
    });
}

function addFilter(command: Command): Command {
  return command
    .addOption(new Option('--status <status>', 'only orders in this status').choices(ORDER_STATUSES))
    .option('--reference <text>', 'only orders with this reference', (text) => text.normalize('NFC'))
    .option('--amount <pounds>', 'only orders of exactly this amount', amount)
    .addOption(timeOption('--since', 'only orders created at or after this time'))
    .addOption(timeOption('--until', 'only orders created before this time'))
    .addOption(timeOption('--completed-since', 'only orders that became SUCCESSFUL at or after this time'))
    .addOption(timeOption('--completed-until', 'only orders that became SUCCESSFUL before this time'));
}

const toFilter = (options: FilterOptions): OrderFilter => ({
  sellerId: options.seller,
  status: options.status,
  reference: options.reference,
  amountPence: options.amount,
  createdFrom: options.since?.toISOString(),
  createdBefore: options.until?.toISOString(),
  completedFrom: options.completedSince?.toISOString(),
  completedBefore: options.completedUntil?.toISOString(),
});

function addExport(order: Command, services: Services): void {
  addFilter(order.command('export').description('print all orders of a seller as CSV, as the API does'))
    .requiredOption('--seller <seller-id>', 'the seller', uuid)
    .action(async (options: FilterOptions & { seller: string }, command: Command) => {
      if (wantsJson(command)) throw new UsageError('order export prints CSV: omit --json');
      await requireAccount(services, options.seller);
      for await (const piece of toCsv(services.db(), toFilter(options))) await writeRaw(piece);
    });
}

function addTimeline(order: Command, services: Services): void {
  order
    .command('timeline')
    .description('list the changes, refused signals and webhook attempts of an order, oldest first')
    .argument('<order>', 'id or reference of the order')
    .action(async (id: string, _options: unknown, command: Command) => {
      const found = await requireOrderArgument(services, id);
      await printTimeline(command, { db: services.db(), breaker: CONSTANTS.webhookBreaker }, found.id);
    });
}

/** Without the applicant's data. */
function toApplicationRow({ paymentTerm, submitted, decision, ...times }: Application): Row {
  return {
    payment_term: paymentTerm,
    submitted_at: submitted?.at ?? null,
    referred_at: times.referredAt,
    returned_at: times.returnedAt,
    decision: decision?.kind ?? null,
    decline_code: decision?.kind === 'declined' ? decision.code : null,
    decided_at: times.decidedAt,
    agreed_at: times.agreedAt,
  };
}

function toRow(order: StoredOrder, checkoutBaseUrl: string): Row {
  return {
    ...toOrderBody(order, checkoutBaseUrl),
    seller_id: order.sellerId,
    mode: toMode(order.sandbox),
    webhook_url: order.webhookUrl,
    expires_at: order.expiresAt,
    version: order.version,
    workflow_id: workflowId(order.id),
    workflow_started: order.started,
  };
}
