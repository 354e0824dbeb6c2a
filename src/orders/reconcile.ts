import { toStatusWebhook } from '../contracts/order-mapper';
import { FIRST_ID, findLeftToDo, findOrdersById } from '../db/list-orders';
import { type StoredOrder, findOrder, isLeftToDo, clearRowBehind, commitChange } from '../db/orders';
import { readClock } from '../db/clock';
import type { Db } from '../db/pool';
import { findPendingWebhooks } from '../db/webhook-events';
import { type OrderChange, type Order, type OrderState, isFinal, withChange } from '../domain/order';
import type { DescribedRun, OrderWorkflows } from '../temporal/order-workflow-client';

/** Orders that one statement reads. */
const PAGE = 500;
/** For one call about one order: a server that has just been restored can be slow. */
const TIMEOUT_MS = 10_000;
/** The API or a worker starts the workflow of a new order within this time. */
const STARTED_WITHIN_MS = 60_000;

/** The ways in which an order's row and its workflow can differ, after one of the two was restored. */
export const DIFFERENCES = {
  not_running: 'something is left to do, but the workflow does not run',
  workflow_behind: 'the row has changes that the workflow does not have',
  not_delivering: 'a webhook is pending, but the workflow does not send it',
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
  saved: OrderState | undefined;
}

/** What became of a difference, or what a person has to do about it. */
export const REPAIRS = {
  resumed: 'a new run continues from the row',
  ended: 'the run is terminated: nothing is left to do',
  brought_forward: 'the row has the changes of the workflow now',
  kept_row: 'the row is kept: a new run continues from it',
  decide_which: 'decide which is right: --keep-row discards the changes of the workflow',
  nothing_done: 'nothing was done',
};
type Repair = keyof typeof REPAIRS;

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
  deps: ReconcileDependencies,
  selection: { sellerId?: string | undefined },
): AsyncGenerator<Difference | undefined> {
  const { db, workflows } = deps;
  const compared = new Set<string>();
  for (let after: string | undefined = FIRST_ID; after !== undefined;) {
    const ids: string[] = await findLeftToDo(db, after, PAGE);
    after = ids.at(-1);
    for (const row of await findOrdersById(db, ids)) {
      if (selection.sellerId !== undefined && row.sellerId !== selection.sellerId) continue;
      compared.add(row.id);
      yield await compareTwice(deps, row.id, row);
    }
  }
  for await (const { orderId } of workflows.listOpen(selection)) {
    if (!compared.has(orderId)) yield await compareTwice(deps, orderId, await findOrder(db, orderId));
  }
}

/** An order differs for a moment while it changes. */
async function compareTwice(deps: ReconcileDependencies, orderId: string, row: StoredOrder | undefined) {
  const difference = await compare(deps, orderId, row);
  return difference && compare(deps, orderId, await findOrder(deps.db, orderId));
}

async function compare(
  { db, workflows }: ReconcileDependencies,
  orderId: string,
  row: StoredOrder | undefined,
): Promise<Difference | undefined> {
  const run = await workflows.describe(orderId, TIMEOUT_MS);
  const differ = (kind: Difference['kind'], saved?: OrderState) => ({ kind, orderId, row, run, saved });
  let saved: OrderState | undefined;
  try {
    saved = run && (await workflows.query(orderId, TIMEOUT_MS));
  } catch {
    return differ('not_compared');
  }
  if (!row) return run && differ('row_missing', saved);
  if (saved && !continues(row.changes, saved.changes)) return differ('different', saved);
  if (saved && saved.version > row.version) return differ('row_behind', saved);
  const isBehind = (saved && saved.version < row.version) || row.behindVersion !== null;
  if (!run?.isRunning) return (await needsRun(db, row)) ? differ('not_running', saved) : undefined;
  if (isBehind) return differ('workflow_behind', saved);
  const isIdle = !run.isDelivering && (await findPendingWebhooks(db, orderId)).length > 0;
  return isIdle ? differ('not_delivering', saved) : undefined;
}

/** True if one list of changes continues the other. */
function continues(one: readonly OrderChange[], other: readonly OrderChange[]): boolean {
  return one.every((change, index) => {
    const own = other[index];
    return !own || (change.version === own.version && change.event === own.event && change.at === own.at);
  });
}

async function needsRun(db: Db, row: StoredOrder): Promise<boolean> {
  if (row.behindVersion !== null) return true;
  if (isFinal(row.status)) return (await findPendingWebhooks(db, row.id)).length > 0;
  return row.started || (await readClock(db)).getTime() - Date.parse(row.createdAt) > STARTED_WITHIN_MS;
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
  await clearRowBehind(deps.db, row.id);
  if (run?.isRunning) await deps.workflows.terminate(row.id, run.runId, `reconcile: ${DIFFERENCES[kind]}`);
  const isLeft = await isLeftToDo(deps.db, row.id);
  if (isLeft) await deps.workflows.resume(row);
  if (kind === 'row_behind') return 'brought_forward';
  if (!isLeft) return 'ended';
  return kind === 'different' ? 'kept_row' : 'resumed';
}

/** Saves the changes that the row of a restored backup lacks, with their webhooks. */
async function bringForward(
  { db, checkoutBaseUrl }: ReconcileDependencies,
  row: StoredOrder,
  { changes }: OrderState,
): Promise<void> {
  let order: Order = row;
  for (const change of changes.slice(row.changes.length)) {
    const saved = await commitChange(db, row.id, change, toStatusWebhook(order, change, checkoutBaseUrl));
    if (!saved) throw new Error('the row has changed: repeat the command');
    order = withChange(order, change);
  }
}
