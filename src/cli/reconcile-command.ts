import type { Command } from 'commander';
import { type Difference, type ReconcileDependencies, reconcile } from '../orders/reconcile';
import { type RepairDependencies, repairDifference } from '../orders/repair-difference';
import { timeOption, uuid } from './arguments';
import { CliError, isConnectionError, reasonOf } from './cli-error';
import { type RepairResult, jsonPrinter, linePrinter } from './difference-printers';
import { wantsJson } from './output';
import { requireAccount } from './require-account';
import type { Services } from './services';

/** For a run and its whole history, also right after a restore. */
const CALL_TIMEOUT_MS = 10_000;

interface Options {
  seller?: string;
  since?: Date;
  repair?: true;
  keepRow?: boolean;
}

/** Prints each difference as soon as it is found, because there may be a million orders. */
export function addReconcileCommand(program: Command, services: Services): void {
  program
    .command('reconcile')
    .description('compare orders between Postgres and Temporal and list the differences; exit with 1 if there are any')
    .option('--seller <seller-id>', 'only orders of this seller', uuid)
    .addOption(timeOption('--since', 'only orders created or changed at or after this time'))
    .option('--repair', 'repair the differences, most through the sweep of the workers; without it, nothing changes')
    .option('--keep-row', 'with --repair: where row and workflow hold different changes, keep the row')
    .action(async ({ seller, since, repair, keepRow = false }: Options, command: Command) => {
      const db = services.db();
      if (seller !== undefined) await requireAccount(db, seller);
      const workflows = await services.workflows();
      const inspect = (id: string) => workflows.inspect(id, CALL_TIMEOUT_MS);
      const deps: ReconcileDependencies = { db, inspect, listWorkflows: (selection) => workflows.list(selection) };
      const printer = wantsJson(command) ? jsonPrinter() : linePrinter();
      let compared = 0;
      let differing = 0;
      let failed = 0;
      await printer.open();
      for await (const page of reconcile(deps, { sellerId: seller, since })) {
        compared += page.compared;
        differing += page.differences.length;
        for (const difference of page.differences) {
          const result = repair && (await tryRepair({ db, workflows, inspect, keepRow }, difference));
          if (result?.repair === 'failed') failed += 1;
          await printer.difference(difference, result);
        }
      }
      await printer.close(compared, differing);
      // The audit log records it.
      if (failed > 0) throw new CliError(`failed repairs: ${failed}; fix the error of each, then repeat the command`);
      services.foundTrouble = differing > 0;
    });
}

/** A failed repair does not prevent the others, unless the database is unavailable to all. */
async function tryRepair(deps: RepairDependencies, difference: Difference): Promise<RepairResult> {
  try {
    return { repair: await repairDifference(deps, difference) };
  } catch (error) {
    if (isConnectionError(error)) throw error;
    return { repair: 'failed', error: reasonOf(error) };
  }
}
