import { setTimeout as sleep } from 'node:timers/promises';
import { type OrderFilter, findOrder, findOrders } from '../db/find-orders';
import type { Db } from '../db/pool';
import { isProblem } from '../contracts/problem';
import { ORDER_STATUSES, type OrderStatus, isFinal } from '../domain/status';
import { cancelForOperator } from '../orders/change-order';
import type { OrderDependencies } from '../orders/dependencies';
import { CliError, reasonOf } from './cli-error';

export const OPEN_STATUSES = ORDER_STATUSES.filter((status) => !isFinal(status));

const PAGE = 500;
/** Between two cancels: without it, a large selection would delay all other changes and webhooks. */
const CANCEL_GAP_MS = 100;
/** Then the cause is not the order, so the rest is not tried. */
const MAX_FAILURES_IN_A_ROW = 5;

/**
 * An order that is not cancelled, and why. `refused`: its status allows no cancel, or is no longer the selected one.
 */
export interface NotCancelled {
  id: string;
  outcome: 'refused' | 'failed';
  reason: string;
}

interface Selected {
  id: string;
  status: OrderStatus;
  amountPence: number;
}

/**
 * Finds open orders, newest first in each status.
 * @param filter without a status, orders of every open status
 */
export async function* selectOpenOrders(db: Db, { status, ...filter }: OrderFilter): AsyncGenerator<Selected> {
  for (const open of status === undefined ? OPEN_STATUSES : [status]) {
    for (let after: string | undefined; ;) {
      const page = await findOrders(db, { ...filter, status: open, after }, PAGE);
      yield* page;
      if (page.length < PAGE) break;
      after = page.at(-1)?.id;
    }
  }
}

/**
 * Cancels the selected orders, one after the other. It is safe to repeat: a cancelled order is no longer selected.
 * @param onNotCancelled called for each order that is not cancelled
 * @throws CliError if several orders fail in a row
 */
export async function cancelSelection(
  { db, workflows }: Pick<OrderDependencies, 'workflows'> & { db: Db },
  filter: OrderFilter,
  reason: string,
  onNotCancelled: (order: NotCancelled) => Promise<void>,
): Promise<{ cancelled: number; refused: number; failed: number }> {
  const counts = { cancelled: 0, refused: 0, failed: 0 };
  let failuresInARow = 0;

  async function cancel({ id, status }: Selected): Promise<NotCancelled | undefined> {
    const stored = await findOrder(db, id);
    if (stored?.status !== status) {
      return { id, outcome: 'refused', reason: `it was ${status}, and is ${stored?.status} now` };
    }
    try {
      await cancelForOperator({ db, workflows }, stored, reason);
      return undefined;
    } catch (error) {
      const isRefused = isProblem(error, 'order_not_cancellable');
      return { id, outcome: isRefused ? 'refused' : 'failed', reason: reasonOf(error) };
    }
  }

  for await (const selected of selectOpenOrders(db, filter)) {
    const notCancelled = await cancel(selected);
    counts[notCancelled?.outcome ?? 'cancelled'] += 1;
    if (notCancelled) await onNotCancelled(notCancelled);
    failuresInARow = notCancelled?.outcome === 'failed' ? failuresInARow + 1 : 0;
    if (failuresInARow === MAX_FAILURES_IN_A_ROW) {
      throw new CliError(
        `stopped after ${failuresInARow} failures in a row (${counts.cancelled} cancelled): ${notCancelled?.reason}`,
      );
    }
    await sleep(CANCEL_GAP_MS);
  }
  return counts;
}
