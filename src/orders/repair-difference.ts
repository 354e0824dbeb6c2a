import { findOrder } from '../db/find-orders';
import { sweepDifference } from '../db/order-work';
import type { Db } from '../db/pool';
import { rebuildOrder } from '../db/rebuild-order';
import type { OrderWorkflows } from '../temporal/order-workflows';
import type { Difference } from './reconcile';

/** What became of a difference, or what a person has to do about it. */
export const REPAIRS = {
  handed_to_sweep: 'handed to the sweep',
  rebuilt: 'rebuilt; its pay link, URLs, payment terms, source and meta_data are lost',
  kept_row: 'the row counts: a new run continues from it',
  decide_which: 'decide which is right: --keep-row discards the changes of the workflow',
  start_worker: 'start a worker and compare again',
  no_history: 'lost: Temporal has no history of it either',
  no_account: 'lost: its account is missing; create no new one, restore a newer backup',
  no_redirect_url: 'give the account a default redirect URL, then repair again',
  reference_taken: 'lost: another order has its reference; tell the seller which of the two is valid',
};
export type Repair = keyof typeof REPAIRS;

export interface RepairDependencies {
  db: Db;
  workflows: Pick<OrderWorkflows, 'resume' | 'terminate'>;
  /** True if rows count that differ from their workflow. */
  keepRow: boolean;
}

/** Repairs a difference, or has the sweep repair it within seconds. */
export async function repairDifference(
  { db, workflows, keepRow }: RepairDependencies,
  { kind, orderId, row, workflow }: Difference,
): Promise<Repair> {
  if (!row) {
    if (!workflow?.saved || workflow.sellerId === undefined) return 'no_history';
    return rebuildOrder(db, workflow.sellerId, workflow.saved);
  }
  if (kind === 'no_answer') return 'start_worker';
  if (kind !== 'different') {
    await sweepDifference(db, orderId);
    return 'handed_to_sweep';
  }
  const stored = keepRow ? await findOrder(db, orderId) : undefined;
  if (!stored) return 'decide_which';
  const reason = 'an operator decided that the row counts';
  if (workflow?.running) await workflows.terminate(orderId, workflow.runId, reason);
  await workflows.resume(stored.order, { saved: null, reason, channel: 'cli' });
  return 'kept_row';
}
