import type { Command } from 'commander';
import { loadCheckoutBaseUrl } from '../config';
import {
  type Difference,
  type ReconcileDependencies,
  DIFFERENCES,
  REPAIRS,
  reconcile,
  repair,
} from '../orders/reconcile';
import { uuid } from './arguments';
import { CliError, isConnectionError, reasonOf } from './cli-error';
import { type Row, print, wantsJson, write } from './output';
import { requireAccount } from './selection';
import type { Services } from './services';
import type { OrderState } from '../domain/order';

interface Options {
  seller?: string;
  repair?: true;
  keepRow?: boolean;
}

export function addReconcileCommand(program: Command, services: Services): void {
  program
    .command('reconcile')
    .description(
      'after a restore, compare orders between Postgres and Temporal and list the differences; needs a worker; exit ' +
        'with 1 if there are any',
    )
    .option('--seller <seller-id>', 'only orders of this seller', uuid)
    .option('--repair', 'bring the older one forward where one continues the other; without it, nothing changes')
    .option('--keep-row', 'with --repair: where row and workflow hold different changes, keep the row')
    .action(async ({ seller, repair: doesRepair, keepRow = false }: Options, command: Command) => {
      const db = services.db();
      if (seller !== undefined) await requireAccount(services, seller);
      const workflows = await services.workflows();
      const deps: ReconcileDependencies = { db, workflows, checkoutBaseUrl: loadCheckoutBaseUrl(services.env) };
      const differences: Row[] = [];
      let compared = 0;
      for await (const difference of reconcile(deps, { sellerId: seller })) {
        compared += 1;
        if (!difference) continue;
        const result = doesRepair ? await tryRepair(deps, difference, keepRow) : {};
        differences.push(toRow(difference, result));
        if (!wantsJson(command)) await write(toLine(difference, result));
      }
      const counts = { compared, differing: differences.length };
      if (wantsJson(command)) await print(command, { differences, ...counts });
      else await write(`${compared} compared, ${differences.length} differ\n`);
      const failed = differences.filter((one) => one.repair === 'failed').length;
      // The audit log records it.
      if (failed > 0) throw new CliError(`failed repairs: ${failed}; fix the error of each, then repeat the command`);
      services.foundTrouble = differences.length > 0;
    });
}

/** Empty without `--repair`. `error`: why it failed, in one line. */
interface Result {
  repair?: keyof typeof REPAIRS | 'failed';
  error?: string;
}

/** A failed repair does not prevent the others, unless the database is unavailable to all. */
async function tryRepair(deps: ReconcileDependencies, difference: Difference, keepRow: boolean): Promise<Result> {
  try {
    return { repair: await repair(deps, difference, keepRow) };
  } catch (error) {
    if (isConnectionError(error)) throw error;
    return { repair: 'failed', error: reasonOf(error) };
  }
}

function toLine({ kind, orderId, row, run, saved }: Difference, { repair: repaired, error }: Result): string {
  const states = `row: ${describe(row)}; workflow: ${describe(saved)}${run?.isRunning ? '' : ', not running'}`;
  const result = repaired === 'failed' ? `; repair failed: ${error}` : repaired ? `; ${REPAIRS[repaired]}` : '';
  return `${orderId} ${kind}: ${DIFFERENCES[kind]} (${states})${result}\n`;
}

function describe(state: OrderState | undefined): string {
  return state ? `version ${state.version}, ${state.status}` : 'none';
}

function toRow({ kind, orderId, row, run, saved }: Difference, result: Result): Row {
  const { version = null, status = null } = saved ?? {};
  return {
    order_id: orderId,
    seller_id: row?.sellerId ?? run?.sellerId ?? null,
    difference: kind,
    row: row ? { version: row.version, status: row.status } : null,
    workflow: run ? { running: run.isRunning, version, status } : null,
    ...result,
  };
}
