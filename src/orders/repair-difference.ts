import { findOrder, findOrderByReference } from '../db/find-orders';
import { makeDueForRepair } from '../db/order-work';
import type { Db } from '../db/pool';
import { rebuildOrder } from '../db/rebuild-order';
import type { WorkflowOrderHistory } from '../domain/order';
import { type OrderWorkflows, toPrevious } from '../temporal/order-workflows';
import type { Difference, ReconcileDependencies } from './reconcile';

/** What became of a difference, or what a person has to do about it. */
export const REPAIRS = {
  handed_to_sweep: 'handed to the sweep',
  rebuilt: 'rebuilt; its pay link, URLs, payment terms, source and meta_data are lost',
  kept_row: 'the row is kept: a new run continues from it',
  decide_which: 'decide which is right: --keep-row discards the changes of the workflow',
  start_worker: 'start a worker and compare again',
  compare_again: 'compare again once Temporal answers in time',
  no_history: 'lost: Temporal has no history of it either',
  no_account: 'lost: its account is missing, and a new one has another id; only a newer backup has the order',
  no_redirect_url: 'give the account a default redirect URL, then repair again',
  repeat_later: 'another order has its reference until the sweep has closed that one: repair again in a minute',
  reference_taken: 'lost: another order has its reference; tell the seller which of the two is valid',
};
export type Repair = keyof typeof REPAIRS;

export interface RepairDependencies {
  db: Db;
  workflows: Pick<OrderWorkflows, 'resume' | 'terminate'>;
  inspect: ReconcileDependencies['inspect'];
  /** True to keep the row where row and workflow hold different changes. */
  keepRow: boolean;
}

/** Repairs a difference, or has the sweep repair it within seconds. */
export async function repairDifference(deps: RepairDependencies, difference: Difference): Promise<Repair> {
  const { db, workflows, keepRow } = deps;
  const { kind, orderId, row, workflow } = difference;
  if (kind === 'not_compared') return 'compare_again';
  if (!row) {
    if (!workflow?.saved || workflow.sellerId === undefined) return 'no_history';
    return rebuild(deps, workflow.sellerId, workflow.saved);
  }
  if (kind === 'not_loaded') return 'start_worker';
  if (kind !== 'different') {
    await makeDueForRepair(db, orderId);
    return 'handed_to_sweep';
  }
  const stored = keepRow ? await findOrder(db, orderId) : undefined;
  if (!stored) return 'decide_which';
  const reason = 'an operator decided to keep the row';
  if (workflow?.running) await workflows.terminate(orderId, workflow.runId, reason);
  const previous = toPrevious(await deps.inspect(orderId), stored.order, 'cli');
  await workflows.resume(stored.order, { ...previous, saved: null, reason });
  return 'kept_row';
}

async function rebuild(
  { db, inspect }: RepairDependencies,
  sellerId: string,
  saved: WorkflowOrderHistory,
): Promise<Repair> {
  const rebuilt = await rebuildOrder(db, sellerId, saved);
  if (rebuilt !== 'reference_taken') return rebuilt;
  const holder = await findOrderByReference(db, sellerId, saved.order.reference);
  // The holder's row may lack a change that the sweep saves again, as after a cancel that the backup does not have.
  if (holder && (await inspect(holder.id))?.saved?.order.status !== 'UNSUCCESSFUL') return 'reference_taken';
  if (holder) await makeDueForRepair(db, holder.id);
  return 'repeat_later';
}
