import type { Command } from 'commander';
import { loadCheckoutBaseUrl } from '../config';
import { type Difference, type ReconcileDependencies, reconcile, repair } from '../orders/reconcile';
import { uuid } from './arguments';
import { CliError, isConnectionError, reasonOf } from './cli-error';
import { type RepairResult, jsonPrinter, linePrinter } from './difference-printers';
import { wantsJson } from './output';
import { requireAccount } from './look-up';
import type { Services } from './services';

interface Options {
  seller?: string;
  repair?: true;
  keepRow?: boolean;
}

/** Prints each difference as soon as it is found, because there may be a million orders. */
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
      const printer = wantsJson(command) ? jsonPrinter() : linePrinter();
      let compared = 0;
      let differing = 0;
      let failed = 0;
      await printer.open();
      for await (const difference of reconcile(deps, { sellerId: seller })) {
        compared += 1;
        if (!difference) continue;
        differing += 1;
        const result = doesRepair && (await tryRepair(deps, difference, keepRow));
        if (result?.repair === 'failed') failed += 1;
        await printer.difference(difference, result);
      }
      await printer.close(compared, differing);
      // The audit log records it.
      if (failed > 0) throw new CliError(`failed repairs: ${failed}; fix the error of each, then repeat the command`);
      services.foundTrouble = differing > 0;
    });
}

/** A failed repair does not prevent the others, unless the database is unavailable to all. */
async function tryRepair(deps: ReconcileDependencies, difference: Difference, keepRow: boolean): Promise<RepairResult> {
  try {
    return { repair: await repair(deps, difference, keepRow) };
  } catch (error) {
    if (isConnectionError(error)) throw error;
    return { repair: 'failed', error: reasonOf(error) };
  }
}
