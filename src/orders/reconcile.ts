import { setTimeout as delay } from 'node:timers/promises';
import { bulkhead } from 'cockatiel';
import type { Db } from '../db/pool';
import { type OrderSelection, type StoredOrderState, findOrderStates, orderStatesByPage } from '../db/order-states';
import { sweepSoon } from '../db/order-work';
import { isFinal } from '../domain/status';
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
  webhooks_not_running: 'webhooks are pending, but the workflow does not run',
  workflow_behind: 'the row has changes that the workflow does not have',
  row_behind: 'the workflow has changes that the row does not have',
  different: 'row and workflow are at the same version but differ',
  no_answer: 'the workflow does not respond: is a worker running?',
};

/** The differences that the sweep repairs by starting a run that reads the row. */
const REPAIRED_BY_SWEEP: readonly Difference['kind'][] = ['not_running', 'webhooks_not_running', 'workflow_behind'];

export interface Difference {
  kind: keyof typeof DIFFERENCES;
  row: StoredOrderState;
  workflow: InspectedWorkflow | undefined;
}

export interface ReconcileDependencies {
  db: Db;
  /** @see inspectWorkflow */
  inspect: (orderId: string) => Promise<InspectedWorkflow | undefined>;
}

/** Compares orders between Postgres and Temporal, one page at a time. Changes nothing. */
export async function* reconcile(
  deps: ReconcileDependencies,
  selection: OrderSelection,
): AsyncGenerator<{ checked: number; differences: Difference[] }> {
  for await (const page of orderStatesByPage(deps.db, selection, PAGE)) {
    let differences = await compareAll(deps, page);
    for (let checks = 1; checks < CHECKS && differences.length > 0; checks++) {
      await delay(CHECK_DELAY_MS);
      const rows = await findOrderStates(
        deps.db,
        differences.map(({ row }) => row.id),
      );
      differences = await compareAll(deps, rows);
    }
    yield { checked: page.length, differences };
  }
}

/**
 * Makes the sweep repair an order within seconds.
 * @returns false if the sweep cannot repair this difference: a person has to
 */
export async function handToSweep(db: Db, { kind, row }: Difference): Promise<boolean> {
  return REPAIRED_BY_SWEEP.includes(kind) && (await sweepSoon(db, row.id));
}

async function compareAll({ inspect }: ReconcileDependencies, rows: StoredOrderState[]): Promise<Difference[]> {
  const limit = bulkhead(CONCURRENCY, rows.length);
  const found = await Promise.all(
    rows.map((row) =>
      limit.execute(async () => {
        const workflow = await inspect(row.id);
        const kind = compare(row, workflow);
        return kind && { kind, row, workflow };
      }),
    ),
  );
  return found.filter((difference) => difference !== undefined);
}

function compare(row: StoredOrderState, workflow: InspectedWorkflow | undefined): Difference['kind'] | undefined {
  const state = workflow?.state;
  if (state && state.version > row.version) return 'row_behind';
  if (needsWorkflow(row) && !workflow?.running) return isFinal(row.status) ? 'webhooks_not_running' : 'not_running';
  if (!workflow) return undefined;
  if (!state) return workflow.running ? 'no_answer' : undefined;
  if (state.version < row.version) return 'workflow_behind';
  const same = state.status === row.status && state.cancelledAt === (row.cancelledAt?.toISOString() ?? null);
  return same ? undefined : 'different';
}

function needsWorkflow({ status, pendingWebhooks, started, createdAt }: StoredOrderState): boolean {
  if (isFinal(status)) return pendingWebhooks > 0;
  return started || Date.now() - createdAt.getTime() > STARTED_WITHIN_MS;
}
