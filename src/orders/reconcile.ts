import { setTimeout as delay } from 'node:timers/promises';
import { bulkhead } from 'cockatiel';
import type { Db } from '../db/pool';
import { type OrderSelection, type StoredOrderState, findOrderStates, orderStatesByPage } from '../db/order-states';
import { findOrdersWithoutRow } from '../db/rebuild-order';
import { firstDifference } from '../domain/order';
import { isFinal } from '../domain/status';
import { isTimeout } from '../temporal/grpc-errors';
import type { InspectedWorkflow } from '../temporal/inspect-workflow';

const PAGE = 200;
const CONCURRENCY = 20;
/** An order differs for a moment while it changes. Only a difference in each of several checks is reported. */
const CHECKS = 3;
const CHECK_DELAY_MS = 500;
/** The API or the sweep starts the workflow of a new order within this time. */
const STARTED_WITHIN_MS = 60_000;

/** The ways in which an order's row and its workflow can differ. */
export const DIFFERENCES = {
  not_running: 'the order is open, but its workflow does not run',
  webhooks_not_running: 'webhooks are pending, or resends are requested, but the workflow does not run',
  workflow_behind: 'the row has changes that the workflow does not have',
  row_behind: 'the workflow has changes that the row does not have',
  different: 'row and workflow hold different changes',
  stuck: 'the workflow tasks keep failing',
  still_running: 'the order is settled, but its workflow still runs',
  not_compared: 'Temporal did not answer in time',
  not_loaded: 'the run has not read the row yet: is a worker running?',
  row_missing: 'the workflow exists, but the order has no row',
};

export interface Difference {
  kind: keyof typeof DIFFERENCES;
  orderId: string;
  /** Undefined if the order has no row. */
  row: StoredOrderState | undefined;
  workflow: InspectedWorkflow | undefined;
}

export interface ReconcileDependencies {
  db: Db;
  /** @see inspectWorkflow */
  inspect: (orderId: string) => Promise<InspectedWorkflow | undefined>;
  /** The ids of all orders that have a workflow. */
  listWorkflows: (selection: OrderSelection) => AsyncIterable<string>;
}

interface ReconciledPage {
  compared: number;
  differences: Difference[];
}

/** Compares orders between Postgres and Temporal, one page at a time. Changes nothing. */
export async function* reconcile(
  deps: ReconcileDependencies,
  selection: OrderSelection,
): AsyncGenerator<ReconciledPage> {
  for await (const page of orderStatesByPage(deps.db, selection, PAGE)) {
    let differences = await compareAll(deps, page);
    for (let checks = 1; checks < CHECKS && differences.length > 0; checks++) {
      await delay(CHECK_DELAY_MS);
      const rows = await findOrderStates(
        deps.db,
        differences.map(({ orderId }) => orderId),
      );
      differences = await compareAll(deps, rows);
    }
    const isUnavailable =
      differences.length === page.length && differences.every(({ kind }) => kind === 'not_compared');
    if (isUnavailable && page.length > CONCURRENCY) throw new Error('Temporal answers no call in time');
    yield { compared: page.length, differences };
  }
  yield* findMissingRows(deps, selection);
}

/** Finds orders that have a workflow and no row: they were created after the backup that was restored. */
async function* findMissingRows(
  { db, inspect, listWorkflows }: ReconcileDependencies,
  selection: OrderSelection,
): AsyncGenerator<ReconciledPage> {
  for await (const ids of inPages(listWorkflows(selection))) {
    const differences: Difference[] = [];
    for (const orderId of await findOrdersWithoutRow(db, ids)) {
      const { workflow, isLate } = await inspectInTime(inspect, orderId);
      const kind = isLate ? 'not_compared' : 'row_missing';
      if (isLate || workflow) differences.push({ kind, orderId, row: undefined, workflow });
    }
    yield { compared: differences.length, differences };
  }
}

/** An order may have several runs: each id is in a page once. */
async function* inPages(ids: AsyncIterable<string>): AsyncGenerator<string[]> {
  let page = new Set<string>();
  for await (const id of ids) {
    page.add(id);
    if (page.size < PAGE) continue;
    yield [...page];
    page = new Set();
  }
  yield [...page];
}

async function compareAll({ inspect }: ReconcileDependencies, rows: StoredOrderState[]): Promise<Difference[]> {
  const limit = bulkhead(CONCURRENCY, rows.length);
  const found = await Promise.all(
    rows.map((row) =>
      limit.execute(async () => {
        const { workflow, isLate } = await inspectInTime(inspect, row.id);
        const kind = isLate ? 'not_compared' : compare(row, workflow);
        return kind && { kind, orderId: row.id, row, workflow };
      }),
    ),
  );
  return found.filter((difference) => difference !== undefined);
}

/** A run that Temporal does not return in time does not end the comparison of the others. */
async function inspectInTime(
  inspect: ReconcileDependencies['inspect'],
  orderId: string,
): Promise<{ workflow: InspectedWorkflow | undefined; isLate: boolean }> {
  try {
    return { workflow: await inspect(orderId), isLate: false };
  } catch (error) {
    if (!isTimeout(error)) throw error;
    return { workflow: undefined, isLate: true };
  }
}

function compare(row: StoredOrderState, workflow: InspectedWorkflow | undefined): Difference['kind'] | undefined {
  const { running = false, saved, failureReason } = workflow ?? {};
  if (saved && firstDifference(row.changes, saved.changes) !== undefined) return 'different';
  if (saved && saved.order.version > row.version) return 'row_behind';
  if (needsWorkflow(row) && !running) return isFinal(row.status) ? 'webhooks_not_running' : 'not_running';
  if (running && failureReason !== null) return 'stuck';
  if (!saved) return running ? 'not_loaded' : undefined;
  const { version, status, cancelledAt } = saved.order;
  if (version < row.version) return 'workflow_behind';
  if (status !== row.status || cancelledAt !== (row.cancelledAt?.toISOString() ?? null)) return 'different';
  return running && row.settled ? 'still_running' : undefined;
}

function needsWorkflow({ status, settled, requestsWait, started, createdAt }: StoredOrderState): boolean {
  if (isFinal(status)) return !settled && !requestsWait;
  return started || Date.now() - createdAt.getTime() > STARTED_WITHIN_MS;
}
