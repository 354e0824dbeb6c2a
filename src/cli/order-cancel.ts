import { type Command, Option } from 'commander';
import type { OrderFilter } from '../db/find-orders';
import { formatPence } from '../domain/money';
import type { OrderStatus } from '../domain/status';
import { cancelForOperator } from '../orders/change-order';
import { withRequestContext } from '../telemetry/current-request-context';
import type { OrderWorkflows } from '../temporal/order-workflows';
import { printable, timeOption } from './arguments';
import { type NotCancelled, OPEN_STATUSES, cancelSelection, selectOpenOrders } from './cancel-selection';
import { type ManyOptions, addManyOptions, confirm, requireScope } from './change-many';
import { CliError, UsageError } from './cli-error';
import { requireOrder } from './look-up';
import { print, wantsJson, write } from './output';
import type { Services } from './services';

interface CancelOptions extends ManyOptions {
  reason?: string;
  status?: OrderStatus;
  since?: Date;
  until?: Date;
}

export function addOrderCancel(order: Command, services: Services): void {
  const cancel = order
    .command('cancel')
    .description(
      'cancel an order that is not SUCCESSFUL, or open orders selected by a filter, at most ten per second, through ' +
        'their workflows; the sellers receive webhooks',
    )
    .argument('[order]', 'id or reference of one order');
  addManyOptions(cancel, 'open orders')
    .addOption(new Option('--status <status>', 'orders in this status; default: every open one').choices(OPEN_STATUSES))
    .addOption(timeOption('--since', 'orders created at or after this time'))
    .addOption(timeOption('--until', 'orders created before this time'))
    .option(
      '--reason <text>',
      "reason for the order's timeline and the seller's webhook; a filter requires it",
      printable(500),
    )
    .action(async (id: string | undefined, options: CancelOptions, command: Command) => {
      const { reason, seller, allSellers, since, until, status } = options;
      const hasFilter = [seller, allSellers, since, until, status].some((option) => option !== undefined);
      if ((id !== undefined) === hasFilter) throw new UsageError('select one order, or orders by a filter');
      if (id !== undefined) return cancelOne(services, id, options, command);
      if (reason === undefined) throw new UsageError('cancelling by a filter requires --reason');
      const owner = await requireScope(services, options);
      const range = { createdFrom: since?.toISOString(), createdBefore: until?.toISOString() };
      const filter = { sellerId: seller, status, ...range };
      await confirm(services, await questionFor(services, filter, owner), options);
      await cancelAll(services, filter, reason, command);
    });
}

async function cancelOne(services: Services, id: string, options: CancelOptions, command: Command): Promise<void> {
  const { reason } = options;
  const stored = await requireOrder(services, id);
  const { reference, sellerName, amountPence } = stored;
  // Another seller's order may have the reference that was meant.
  if (stored.id !== id.toLowerCase())
    await confirm(services, `Cancel ${reference} of ${sellerName}, ${formatPence(amountPence)}?`, options);
  const cancelled = await asAction(services, (workflows) =>
    cancelForOperator({ db: services.db(), workflows }, stored, reason ?? null),
  );
  const isRepeat = cancelled.version === stored.version;
  await print(
    command,
    { id: stored.id, status: cancelled.status, cancelled_at: cancelled.cancelledAt },
    isRepeat && reason !== undefined ? 'The order was already cancelled: the reason was not recorded.' : undefined,
  );
}

async function questionFor({ db }: Services, filter: OrderFilter, owner: string): Promise<string> {
  let [count, pence] = [0, 0];
  for await (const { amountPence } of selectOpenOrders(db(), filter)) {
    count += 1;
    pence += amountPence;
  }
  return `Cancel ${count} open orders of ${owner}, ${formatPence(pence)} in all?`;
}

async function cancelAll(services: Services, filter: OrderFilter, reason: string, command: Command): Promise<void> {
  const notCancelled: NotCancelled[] = [];
  const report = async (order: NotCancelled) => {
    notCancelled.push(order);
    if (!wantsJson(command)) await write(`${order.id} ${order.outcome}: ${order.reason}\n`);
  };
  const counts = await asAction(services, (workflows) =>
    cancelSelection({ db: services.db(), workflows }, filter, reason, report),
  );
  await print(command, wantsJson(command) ? { ...counts, not_cancelled: notCancelled } : counts);
  // The audit log records it.
  if (counts.failed > 0) throw new CliError(`${counts.failed} orders are not cancelled: repeat the command`);
}

/** Runs changes whose request id is that of the command in the audit log. */
async function asAction<T>(services: Services, run: (workflows: OrderWorkflows) => Promise<T>): Promise<T> {
  const workflows = await services.workflows();
  const { actionId } = services.audit;
  return withRequestContext(actionId === undefined ? undefined : { requestId: actionId }, () => run(workflows));
}
