import type { Command } from 'commander';
import type { Difference } from '../orders/reconcile';
import { DIFFERENCES, handToSweep, reconcile } from '../orders/reconcile';
import { inspectWorkflow } from '../temporal/inspect-workflow';
import { time, uuid } from './arguments';
import { EXIT_FAILED } from './errors';
import { wantsJson, write } from './output';
import { accountOf } from './sellers';
import type { Services } from './services';

const CALL_TIMEOUT_MS = 3000;

interface Options {
  seller?: string;
  since?: Date;
  repair?: true;
}

/** What is found is printed as it is found: it may be a million orders. */
export function addReconcileCommand(program: Command, services: Services): void {
  program
    .command('reconcile')
    .description(
      'compares orders between Postgres and Temporal, tells in what they differ, and ends with 1 where they do',
    )
    .option('--seller <seller-id>', 'orders of this seller only', uuid)
    .option('--since <time>', 'orders created or changed since then only', time)
    .option('--repair', "has the workers' sweep look after what differs at once; nothing is changed without it")
    .action(async ({ seller, since, repair }: Options, command: Command) => {
      const db = services.db();
      if (seller !== undefined) await accountOf(db, seller);
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

interface Printer {
  open(): Promise<void>;
  difference(difference: Difference, swept: boolean | undefined): Promise<void>;
  close(checked: number, differing: number): Promise<void>;
}

function linePrinter(): Printer {
  return {
    open: () => Promise.resolve(),
    difference: ({ kind, row, workflow }, swept) => {
      const repair = swept === undefined ? '' : swept ? '; handed to the sweep' : '; the sweep does not mend it';
      return write(
        `${row.id} ${kind}: ${DIFFERENCES[kind]} (row: version ${row.version}, ${row.status}; ` +
          `workflow: ${describe(workflow)})${repair}\n`,
      );
    },
    close: (checked, differing) => write(`${checked} compared, ${differing} differ\n`),
  };
}

function describe(workflow: Difference['workflow']): string {
  if (!workflow) return 'none';
  const { running, state } = workflow;
  const shown = state ? `version ${state.version}, ${state.status}` : 'no answer';
  return running ? shown : `${shown}, not running`;
}

/** One document, printed bit by bit. */
function jsonPrinter(): Printer {
  let separator = '';
  return {
    open: () => write('{"differences": ['),
    difference: async ({ kind, row, workflow }, swept) => {
      const { running = false, state } = workflow ?? {};
      const told = {
        order_id: row.id,
        seller_id: row.sellerId,
        difference: kind,
        row: { version: row.version, status: row.status },
        workflow: workflow ? { running, version: state?.version ?? null, status: state?.status ?? null } : null,
        ...(swept !== undefined && { handed_to_sweep: swept }),
      };
      await write(`${separator}\n  ${JSON.stringify(told)}`);
      separator = ',';
    },
    close: (checked, differing) => write(`\n], "compared": ${checked}, "differing": ${differing}}\n`),
  };
}
