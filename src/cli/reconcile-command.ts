import type { Command } from 'commander';
import { handToSweep, reconcile } from '../orders/reconcile';
import { inspectWorkflow } from '../temporal/inspect-workflow';
import { time, uuid } from './arguments';
import { EXIT_FAILED } from './cli-error';
import { jsonPrinter, linePrinter } from './difference-printers';
import { wantsJson } from './output';
import { requireAccount } from './require-account';
import type { Services } from './services';

const CALL_TIMEOUT_MS = 3000;

interface Options {
  seller?: string;
  since?: Date;
  repair?: true;
}

/** Prints each difference as soon as it is found, because there may be a million orders. */
export function addReconcileCommand(program: Command, services: Services): void {
  program
    .command('reconcile')
    .description('compare orders between Postgres and Temporal and list the differences; exit with 1 if there are any')
    .option('--seller <seller-id>', 'only orders of this seller', uuid)
    .option('--since <time>', 'only orders created or changed at or after this time', time)
    .option('--repair', 'have the sweep of the workers check the differing orders now; without it, nothing changes')
    .action(async ({ seller, since, repair }: Options, command: Command) => {
      const db = services.db();
      if (seller !== undefined) await requireAccount(db, seller);
      const client = await services.temporal();
      const deps = { db, inspect: (id: string) => inspectWorkflow(client, id, CALL_TIMEOUT_MS) };
      const printer = wantsJson(command) ? jsonPrinter() : linePrinter();
      let checked = 0;
      let differing = 0;
      await printer.open();
      for await (const page of reconcile(deps, { sellerId: seller, since })) {
        checked += page.checked;
        differing += page.differences.length;
        for (const difference of page.differences) {
          await printer.difference(difference, repair && (await handToSweep(db, difference)));
        }
      }
      await printer.close(checked, differing);
      if (differing > 0) process.exitCode = EXIT_FAILED;
    });
}
