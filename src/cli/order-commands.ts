import { type Command, Option } from 'commander';
import { loadCheckoutBaseUrl, loadWorkflowConfig } from '../config';
import { toOrderBody } from '../contracts/order-mapper';
import { listOrders } from '../db/list-orders';
import { type StoredOrder, findOrder } from '../db/find-orders';
import { penceToPounds } from '../domain/money';
import { ORDER_STATUSES, type OrderStatus } from '../domain/status';
import { cancelForOperator } from '../orders/change-order';
import { withRequest } from '../telemetry/current-request';
import { createOrderWorkflows } from '../temporal/order-workflows';
import { workflowId } from '../temporal/workflow-options';
import { integer, printable, time, uuid } from './arguments';
import { CliError } from './cli-error';
import { printTimeline } from './order-timeline';
import { type Row, print, toMode } from './output';
import type { Services } from './services';

interface ListOptions {
  seller?: string;
  status?: OrderStatus;
  reference?: string;
  since?: Date;
  until?: Date;
  after?: string;
  limit: number;
}

export function addOrderCommands(program: Command, services: Services): void {
  const order = program.command('order').description('inspect and cancel the orders of all sellers');
  addShow(order, services);
  addList(order, services);
  addTimeline(order, services);
  addCancel(order, services);
}

function addShow(order: Command, services: Services): void {
  order
    .command('show')
    .description('show one order, from Postgres')
    .argument('<order-id>', 'id of the order', uuid)
    .action(async (id: string, _options: unknown, command: Command) => {
      const checkoutBaseUrl = loadCheckoutBaseUrl(services.env);
      await print(command, toRow(await requireOrder(services, id), checkoutBaseUrl));
    });
}

function addList(order: Command, services: Services): void {
  order
    .command('list')
    .description('list orders, newest first')
    .option('--seller <seller-id>', 'only orders of this seller', uuid)
    .addOption(new Option('--status <status>', 'only orders in this status').choices(ORDER_STATUSES))
    .option('--reference <text>', 'only orders with this reference', (text) => text.normalize('NFC'))
    .option('--since <time>', 'only orders created at or after this time', time)
    .option('--until <time>', 'only orders created before this time', time)
    .option('--after <order-id>', 'continue after this order, the last one of the previous page', uuid)
    .option('--limit <number>', 'maximum number of orders', integer(1, 1000), 50)
    .action(async ({ seller, since, until, limit, ...filter }: ListOptions, command: Command) => {
      const range = { createdFrom: since?.toISOString(), createdBefore: until?.toISOString() };
      const orders = await listOrders(services.db(), { ...filter, ...range, sellerId: seller }, limit);
      // Without this check, an unknown id looks like the end of the list.
      if (filter.after !== undefined && orders.length === 0) await requireOrder(services, filter.after);
      await print(
        command,
        orders.map(({ order: listed }) => ({
          id: listed.id,
          seller_id: listed.sellerId,
          seller_name: listed.sellerName,
          mode: toMode(listed.sandbox),
          reference: listed.reference,
          amount: penceToPounds(listed.amountPence),
          status: listed.status,
          created_at: listed.createdAt,
          cancelled_at: listed.cancelledAt,
        })),
      );
    });
}

function addTimeline(order: Command, services: Services): void {
  order
    .command('timeline')
    .description('list the changes, refused requests and webhook attempts of an order, oldest first')
    .argument('<order-id>', 'id of the order', uuid)
    .action(async (id: string, _options: unknown, command: Command) => {
      await requireOrder(services, id);
      await printTimeline(command, services.db(), id);
    });
}

function addCancel(order: Command, services: Services): void {
  order
    .command('cancel')
    .description('cancel an order that is not SUCCESSFUL, through its workflow; the seller receives a webhook')
    .argument('<order-id>', 'id of the order', uuid)
    .option('--reason <text>', "reason for the order's timeline and the seller's webhook", printable(500))
    .action(async (id: string, { reason }: { reason?: string }, command: Command) => {
      const stored = await requireOrder(services, id);
      const workflows = createOrderWorkflows(await services.temporal(), loadWorkflowConfig(services.env));
      const { actionId } = services.audit;
      const { order: cancelled } = await withRequest(actionId === undefined ? undefined : { requestId: actionId }, () =>
        cancelForOperator({ workflows }, stored, reason ?? null),
      );
      const isRepeat = cancelled.version === stored.order.version;
      await print(
        command,
        { id, status: cancelled.status, cancelled_at: cancelled.cancelledAt },
        isRepeat && reason !== undefined ? 'The order was already cancelled: the reason was not recorded.' : undefined,
      );
    });
}

/** @throws CliError if the order does not exist */
async function requireOrder({ db }: Services, id: string): Promise<StoredOrder> {
  const stored = await findOrder(db(), id);
  if (!stored) throw new CliError(`order ${id} does not exist`);
  return stored;
}

function toRow({ order, attachments, started }: StoredOrder, checkoutBaseUrl: string): Row {
  return {
    ...toOrderBody(order, attachments, checkoutBaseUrl),
    seller_id: order.sellerId,
    mode: toMode(order.sandbox),
    webhook_url: order.webhookUrl,
    expires_at: order.expiresAt,
    version: order.version,
    workflow_id: workflowId(order.id),
    workflow_started: started,
  };
}
