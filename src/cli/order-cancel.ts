import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { type OrderFilter, readOrders } from '../db/list-orders';
import { type StoredOrder, findOrder } from '../db/orders';
import { formatPence } from '../domain/money';
import { type OrderStatus, MAX_REASON_LENGTH, ORDER_STATUSES, isFinal } from '../domain/order';
import { changeOrder } from '../orders/change-order';
import { withRequestContext } from '../telemetry/current-request-context';
import type { OrderWorkflows } from '../temporal/order-workflow-client';
import { printable, timeOption } from './arguments';
import { type ManyOptions, addManyOptions, confirm, requireScope, requireOrderArgument } from './selection';
import { CliError, UsageError, reasonOf } from './cli-error';
import { print, wantsJson, write } from './output';
import type { Services } from './services';
import type { Db } from '../db/pool';
import { isProblem } from '../contracts/problem';

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
      printable(MAX_REASON_LENGTH),
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
  const stored = await requireOrderArgument(services, id);
  const { reference, sellerName, amountPence } = stored;
  // Another seller's order may have the reference that was meant.
  if (stored.id !== id.toLowerCase())
    await confirm(services, `Cancel ${reference} of ${sellerName}, ${formatPence(amountPence)}?`, options);
  const cancelled = await asAction(services, (workflows) =>
    changeOrder({ db: services.db(), workflows }, stored, byOperator(reason ?? null)),
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

/**
 * Cancels the selected orders, one after the other. It is safe to repeat: a cancelled order is no longer selected.
 * @throws CliError if orders are not cancelled, or several fail in a row
 */
async function cancelAll(services: Services, filter: OrderFilter, reason: string, command: Command): Promise<void> {
  const db = services.db();
  const notCancelled: NotCancelled[] = [];
  const counts = { cancelled: 0, refused: 0, failed: 0 };
  let failuresInARow = 0;
  await asAction(services, async (workflows) => {
    for await (const selected of selectOpenOrders(db, filter)) {
      const problem = await tryCancel({ db, workflows }, selected, reason);
      counts[problem?.outcome ?? 'cancelled'] += 1;
      if (problem) {
        notCancelled.push(problem);
        if (!wantsJson(command)) await write(`${problem.id} ${problem.outcome}: ${problem.reason}\n`);
      }
      failuresInARow = problem?.outcome === 'failed' ? failuresInARow + 1 : 0;
      if (failuresInARow === MAX_FAILURES_IN_A_ROW)
        throw new CliError(
          `stopped after ${failuresInARow} failures in a row (${counts.cancelled} cancelled): ${problem?.reason}`,
        );
      await sleep(CANCEL_GAP_MS);
    }
  });
  await print(command, wantsJson(command) ? { ...counts, not_cancelled: notCancelled } : counts);
  // The audit log records it.
  if (counts.failed > 0) throw new CliError(`${counts.failed} orders are not cancelled: repeat the command`);
}

async function tryCancel(
  { db, workflows }: { db: Db; workflows: OrderWorkflows },
  { id, status }: Selected,
  reason: string,
): Promise<NotCancelled | undefined> {
  const stored = await findOrder(db, id);
  if (stored?.status !== status)
    return { id, outcome: 'refused', reason: `it was ${status}, and is ${stored?.status} now` };
  try {
    await changeOrder({ db, workflows }, stored, { ...byOperator(reason), ifVersion: [stored.version] });
    return undefined;
  } catch (error) {
    if (isProblem(error, 'precondition_failed'))
      return { id, outcome: 'refused', reason: `it was ${status}, and has changed meanwhile` };
    const isRefused = isProblem(error, 'order_not_cancellable');
    return { id, outcome: isRefused ? 'refused' : 'failed', reason: reasonOf(error) };
  }
}

/** Runs changes whose request id is that of the command in the audit log. */
async function asAction<T>(services: Services, run: (workflows: OrderWorkflows) => Promise<T>): Promise<T> {
  const workflows = await services.workflows();
  const { actionId } = services.audit;
  return withRequestContext(actionId === undefined ? undefined : { requestId: actionId }, () => run(workflows));
}

const byOperator = (reason: string | null) => ({ event: 'cancel', actor: 'operator', channel: 'cli', reason }) as const;

const OPEN_STATUSES = ORDER_STATUSES.filter((status) => !isFinal(status));

/** Between two cancels: without it, a large selection would delay all other changes and webhooks. */
const CANCEL_GAP_MS = 100;
/** Then the cause is not the order, so the rest is not tried. */
const MAX_FAILURES_IN_A_ROW = 5;

/**
 * An order that is not cancelled, and why. `refused`: its status allows no cancel, or is no longer the selected one.
 */
interface NotCancelled {
  id: string;
  outcome: 'refused' | 'failed';
  reason: string;
}

type Selected = Pick<StoredOrder, 'id' | 'status' | 'amountPence'>;

/**
 * Finds open orders, newest first in each status.
 * @param filter without a status, orders of every open status
 */
async function* selectOpenOrders(db: Db, { status, ...filter }: OrderFilter): AsyncGenerator<Selected> {
  for (const open of status === undefined ? OPEN_STATUSES : [status])
    for await (const page of readOrders(db, { ...filter, status: open })) yield* page;
}
