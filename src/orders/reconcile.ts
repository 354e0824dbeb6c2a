import { toStatusWebhook } from '../contracts/status-webhooks';
import {
  type StoredOrder,
  findOrder,
  findOrdersById,
  findOrdersToCompare,
  findOrdersToResume,
} from '../db/find-orders';
import type { Db } from '../db/pool';
import { clearRowBehind, saveChange } from '../db/save-change';
import { findPendingWebhooks } from '../db/webhook-events';
import { type WorkflowOrderHistory, firstDifference, isStatusChange, sequenceOf } from '../domain/order';
import { isFinal } from '../domain/status';
import type { DescribedRun, OrderWorkflows } from '../temporal/order-workflows';

/** Orders among which one statement searches. */
const PAGE = 1000;
/** For one call about one order: a server that has just been restored can be slow. */
const TIMEOUT_MS = 10_000;
/** The API or a worker starts the workflow of a new order within this time. */
const STARTED_WITHIN_MS = 60_000;

/** The ways in which an order's row and its workflow can differ, after one of the two was restored. */
export const DIFFERENCES = {
  not_running: 'something is left to do, but the workflow does not run',
  workflow_behind: 'the row has changes that the workflow does not have',
  row_behind: 'the workflow has changes that the row does not have',
  different: 'row and workflow hold different changes',
  row_missing: 'the workflow exists, but the order has no row: only a newer backup has it',
  not_compared: 'the workflow did not answer in time: is a worker running?',
};

export interface Difference {
  kind: keyof typeof DIFFERENCES;
  orderId: string;
  /** Undefined if the order has no row. */
  row: StoredOrder | undefined;
  /** Undefined if the workflow has no run. */
  run: DescribedRun | undefined;
  /** What the newest run has saved; undefined if it is unknown. */
  saved: WorkflowOrderHistory | undefined;
}

/** What became of a difference, or what a person has to do about it. */
export const REPAIRS = {
  resumed: 'a new run continues from the row',
  brought_forward: 'the row has the changes of the workflow now',
  kept_row: 'the row is kept: a new run continues from it',
  decide_which: 'decide which is right: --keep-row discards the changes of the workflow',
  nothing_done: 'nothing was done',
};
export type Repair = keyof typeof REPAIRS;

export interface ReconcileDependencies {
  db: Db;
  workflows: OrderWorkflows;
  checkoutBaseUrl: string;
}

/**
 * Compares orders between Postgres and Temporal, one after the other: those for which something is left to do, and those
 * with an open run. Changes nothing.
 * @param selection `sellerId`: only orders of this seller
 * @returns undefined for each order that does not differ
 */
export async function* reconcile(
  { db, workflows }: ReconcileDependencies,
  selection: { sellerId?: string | undefined },
): AsyncGenerator<Difference | undefined> {
  const compared = new Set<string>();
  for (let after: string | undefined; ;) {
    const { ids, last } = await findOrdersToCompare(db, { ...selection, after }, PAGE);
    for (const row of await findOrdersById(db, ids)) {
      compared.add(row.order.id);
      yield await compareTwice(db, workflows, row.order.id, row);
    }
    after = last;
    if (after === undefined) break;
  }
  for await (const { orderId } of workflows.listOpen(selection)) {
    if (!compared.has(orderId)) yield await compareTwice(db, workflows, orderId, await findOrder(db, orderId));
  }
}

/** An order differs for a moment while it changes. */
async function compareTwice(
  db: Db,
  workflows: OrderWorkflows,
  orderId: string,
  row: StoredOrder | undefined,
): Promise<Difference | undefined> {
  const difference = await compare(db, workflows, orderId, row);
  return difference && compare(db, workflows, orderId, await findOrder(db, orderId));
}

async function compare(
  db: Db,
  workflows: OrderWorkflows,
  orderId: string,
  row: StoredOrder | undefined,
): Promise<Difference | undefined> {
  const run = await workflows.describe(orderId, TIMEOUT_MS);
  const differ = (kind: Difference['kind'], saved?: WorkflowOrderHistory) => ({ kind, orderId, row, run, saved });
  let saved: WorkflowOrderHistory | undefined;
  try {
    saved = run && (await workflows.query(orderId, TIMEOUT_MS));
  } catch {
    return differ('not_compared');
  }
  if (!row) return run && differ('row_missing', saved);
  if (saved && firstDifference(row.changes, saved.changes) !== undefined) return differ('different', saved);
  if (saved && saved.order.version > row.order.version) return differ('row_behind', saved);
  // The cancel of a closed order is not the workflow's, which only delivers what is pending.
  const isBehind = saved && saved.order.version < row.order.version && !isFinal(saved.order.status);
  if (run?.isRunning) return isBehind ? differ('workflow_behind', saved) : undefined;
  return (await needsRun(db, row)) ? differ('not_running', saved) : undefined;
}

async function needsRun(db: Db, { order, started, workflowVersion }: StoredOrder): Promise<boolean> {
  if (workflowVersion !== null) return true;
  if (isFinal(order.status)) return (await findPendingWebhooks(db, order.id)).length > 0;
  return started || Date.now() - Date.parse(order.createdAt) > STARTED_WITHIN_MS;
}

/**
 * Brings the older one of row and workflow forward, where one continues the other.
 * @param keepRow keeps the row where they hold different changes
 */
export async function repair(
  deps: ReconcileDependencies,
  { kind, row, saved, run }: Difference,
  keepRow: boolean,
): Promise<Repair> {
  if (!row || kind === 'not_compared' || kind === 'row_missing') return 'nothing_done';
  if (kind === 'different' && !keepRow) return 'decide_which';
  if (kind === 'row_behind' && saved) await bringForward(deps, row, saved);
  await clearRowBehind(deps.db, row.order.id);
  if (run?.isRunning) await deps.workflows.terminate(row.order.id, run.runId, `reconcile: ${DIFFERENCES[kind]}`);
  if ((await findOrdersToResume(deps.db, [row.order.id])).length > 0) await deps.workflows.resume(row.order);
  if (kind === 'row_behind') return 'brought_forward';
  return kind === 'different' ? 'kept_row' : 'resumed';
}

/** Saves the changes that the row of a restored backup lacks, with their webhooks. */
async function bringForward(
  { db, checkoutBaseUrl }: ReconcileDependencies,
  row: StoredOrder,
  { changes }: WorkflowOrderHistory,
): Promise<void> {
  for (const change of changes.slice(row.changes.length)) {
    const before = changes.slice(0, change.version - 1);
    const hasWebhook = isStatusChange(change) && row.order.webhookUrl !== null;
    const webhook = hasWebhook
      ? toStatusWebhook({ ...row, changes: before }, change, sequenceOf(changes, change), checkoutBaseUrl)
      : undefined;
    if (!(await saveChange(db, row.order.id, change, webhook)))
      throw new Error('the row has changed: repeat the command');
  }
}
