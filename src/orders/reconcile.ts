import { setTimeout as delay } from 'node:timers/promises';
import { bulkhead } from 'cockatiel';
import type { Db } from '../db/pool';
import type { OrderSelection, OrderState } from '../db/reconcile';
import { findOrderStates, orderStatesByPage } from '../db/reconcile';
import { sweepSoon } from '../db/sweep';
import { isFinal } from '../domain/status';
import type { SeenWorkflow } from '../temporal/inspect-workflow';

const PAGE = 200;
const AT_ONCE = 20;
/** An order that is being changed differs for a moment: a difference is what stays. */
const LOOKS = 3;
const LOOK_AGAIN_MS = 500;
/** A new order's workflow is the API's to start, then the sweep's. */
const STARTED_WITHIN_MS = 60_000;

/** In what an order's row and its workflow differ, in words. */
export const DIFFERENCES = {
  not_running: 'the order is open, and its workflow does not run',
  webhooks_not_running: 'webhooks are unsettled, and the workflow does not run',
  workflow_behind: 'the workflow lacks changes that the row has',
  row_behind: 'the row lacks changes that the workflow has',
  different: 'row and workflow are at the same version, and not the same',
  no_answer: 'the workflow does not answer: is a worker up?',
};

/** What the sweep mends by starting a run that reads the row. */
const MENDED_FROM_ROW: readonly Difference['kind'][] = ['not_running', 'webhooks_not_running', 'workflow_behind'];

export interface Difference {
  kind: keyof typeof DIFFERENCES;
  row: OrderState;
  workflow: SeenWorkflow | undefined;
}

export interface ReconcileDependencies {
  db: Db;
  /** @see inspectWorkflow */
  inspect: (orderId: string) => Promise<SeenWorkflow | undefined>;
}

/** Compares orders between Postgres and Temporal, a page at a time, and changes nothing. */
export async function* reconcile(
  deps: ReconcileDependencies,
  selection: OrderSelection,
): AsyncGenerator<{ checked: number; differences: Difference[] }> {
  for await (const page of orderStatesByPage(deps.db, selection, PAGE)) {
    let differences = await compareAll(deps, page);
    for (let looks = 1; looks < LOOKS && differences.length > 0; looks++) {
      await delay(LOOK_AGAIN_MS);
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
 * Has the sweep look after an order at once.
 * @returns false for what the sweep does not mend: somebody has to look at it
 */
export async function handToSweep(db: Db, { kind, row }: Difference): Promise<boolean> {
  return MENDED_FROM_ROW.includes(kind) && (await sweepSoon(db, row.id));
}

async function compareAll({ inspect }: ReconcileDependencies, rows: OrderState[]): Promise<Difference[]> {
  const limit = bulkhead(AT_ONCE, rows.length);
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

function compare(row: OrderState, workflow: SeenWorkflow | undefined): Difference['kind'] | undefined {
  const shown = workflow?.order;
  if (shown && shown.version > row.version) return 'row_behind';
  if (needsWorkflow(row) && !workflow?.running) return isFinal(row.status) ? 'webhooks_not_running' : 'not_running';
  if (!workflow) return undefined;
  if (!shown) return workflow.running ? 'no_answer' : undefined;
  if (shown.version < row.version) return 'workflow_behind';
  const same = shown.status === row.status && shown.cancelledAt === (row.cancelledAt?.toISOString() ?? null);
  return same ? undefined : 'different';
}

function needsWorkflow({ status, pendingWebhooks, started, createdAt }: OrderState): boolean {
  if (isFinal(status)) return pendingWebhooks > 0;
  return started || Date.now() - createdAt.getTime() > STARTED_WITHIN_MS;
}
