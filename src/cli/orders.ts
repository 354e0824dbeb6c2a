import type { Command } from 'commander';
import { Option } from 'commander';
import { loadCheckoutBaseUrl, loadWorkflowConfig } from '../config';
import { toOrderBody } from '../contracts/order';
import type { TimelineEntryBody } from '../contracts/webhook-log';
import { listOrders } from '../db/list-orders';
import type { StoredOrder } from '../db/find-orders';
import { findOrder } from '../db/find-orders';
import type { TimelineEntry } from '../db/read-timeline';
import { readTimeline } from '../db/read-timeline';
import { penceToPounds } from '../domain/money';
import type { OrderStatus } from '../domain/status';
import { ORDER_STATUSES } from '../domain/status';
import { cancelForOperator } from '../orders/change-order';
import { toTimelineEntryBody } from '../orders/webhook-log';
import { createOrderWorkflows } from '../temporal/order-workflows';
import { workflowId } from '../temporal/workflow-options';
import { integer, printable, time, uuid } from './arguments';
import { CliError } from './errors';
import type { Row } from './output';
import { print, wantsJson } from './output';
import type { Services } from './services';

const TIMELINE_PAGE = 500;

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
  const order = program.command('order').description('orders of all sellers');
  addShow(order, services);
  addList(order, services);
  addTimeline(order, services);
  addCancel(order, services);
}

function addShow(order: Command, services: Services): void {
  order
    .command('show')
    .description('one order, as Postgres has it')
    .argument('<order-id>', 'id of the order', uuid)
    .action(async (id: string, _options: unknown, command: Command) => {
      const checkoutBaseUrl = loadCheckoutBaseUrl(services.env);
      await print(command, toRow(await storedOrder(services, id), checkoutBaseUrl));
    });
}

function addList(order: Command, services: Services): void {
  order
    .command('list')
    .description('orders, the newest first')
    .option('--seller <seller-id>', 'of this seller only', uuid)
    .addOption(new Option('--status <status>', 'in this status only').choices(ORDER_STATUSES))
    .option('--reference <text>', 'with this reference only')
    .option('--since <time>', 'created from this time on', time)
    .option('--until <time>', 'created before this time', time)
    .option('--after <order-id>', 'older than this one: the last that was listed before', uuid)
    .option('--limit <number>', 'this many at the most', integer(1, 1000), 50)
    .action(async ({ seller, since, until, limit, ...filter }: ListOptions, command: Command) => {
      const range = { createdFrom: since?.toISOString(), createdBefore: until?.toISOString() };
      const orders = await listOrders(services.db(), { ...filter, ...range, sellerId: seller }, limit);
      // Else it would seem to be the end.
      if (filter.after !== undefined && orders.length === 0) await storedOrder(services, filter.after);
      await print(
        command,
        orders.map(({ order: one }) => ({
          id: one.id,
          seller_id: one.sellerId,
          seller_name: one.sellerName,
          reference: one.reference,
          amount: penceToPounds(one.amountPence),
          status: one.status,
          created_at: one.createdAt,
          cancelled_at: one.cancelledAt,
        })),
      );
    });
}

function addTimeline(order: Command, services: Services): void {
  order
    .command('timeline')
    .description('what happened to an order, the oldest first: changes, refused requests, attempts at webhooks')
    .argument('<order-id>', 'id of the order', uuid)
    .action(async (id: string, _options: unknown, command: Command) => {
      await storedOrder(services, id);
      const entries = (await wholeTimeline(services, id)).map(toTimelineEntryBody);
      await print(command, wantsJson(command) ? entries : entries.map(toTimelineRow));
    });
}

async function wholeTimeline({ db }: Services, id: string): Promise<TimelineEntry[]> {
  const entries: TimelineEntry[] = [];
  for (;;) {
    const page = await readTimeline(db(), id, entries.at(-1)?.position, TIMELINE_PAGE);
    entries.push(...page);
    if (page.length < TIMELINE_PAGE) return entries;
  }
}

function toTimelineRow(entry: TimelineEntryBody): Row {
  const { at } = entry;
  if (entry.type === 'webhook_attempt') {
    const { webhook_id, sequence, attempt, resend, status, error, error_detail } = entry;
    const what = `webhook ${sequence}, attempt ${attempt}${resend ? ' (resend)' : ''}`;
    return { at, what, who: webhook_id, outcome: error ?? status, why: error_detail };
  }
  const { event, actor, reason } = entry;
  const outcome = entry.type === 'change' ? `${entry.from ?? '-'} -> ${entry.to}` : `refused: ${entry.order_status}`;
  return { at, what: event, who: actor, outcome, why: reason };
}

function addCancel(order: Command, services: Services): void {
  order
    .command('cancel')
    .description(
      'cancels an order that is not SUCCESSFUL, through its workflow; the seller hears of it as of any change',
    )
    .argument('<order-id>', 'id of the order', uuid)
    .option('--reason <text>', "for the order's timeline and the seller's webhook", printable(500))
    .action(async (id: string, { reason }: { reason?: string }, command: Command) => {
      const stored = await storedOrder(services, id);
      const workflows = createOrderWorkflows(await services.temporal(), loadWorkflowConfig(services.env));
      const { order: cancelled } = await cancelForOperator({ workflows }, stored, reason ?? null);
      await print(command, { id, status: cancelled.status, cancelled_at: cancelled.cancelledAt });
    });
}

async function storedOrder({ db }: Services, id: string): Promise<StoredOrder> {
  const stored = await findOrder(db(), id);
  if (!stored) throw new CliError(`there is no order ${id}`);
  return stored;
}

function toRow({ order, attachments, started }: StoredOrder, checkoutBaseUrl: string): Row {
  return {
    ...toOrderBody(order, attachments, checkoutBaseUrl),
    seller_id: order.sellerId,
    webhook_url: order.webhookUrl,
    created_at: order.createdAt,
    expires_at: order.expiresAt,
    version: order.version,
    workflow_id: workflowId(order.id),
    workflow_started: started,
  };
}
