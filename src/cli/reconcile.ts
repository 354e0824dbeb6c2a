import type { Command } from 'commander';
import { loadCheckoutBaseUrl } from '../config';
import {
  type Difference,
  type ReconcileDependencies,
  reconcile,
  repair,
  DIFFERENCES,
  REPAIRS,
  type Repair,
} from '../orders/reconcile';
import { uuid } from './arguments';
import { CliError, isConnectionError, reasonOf } from './cli-error';
import { wantsJson, write } from './output';
import { requireAccount } from './selection';
import type { Services } from './services';
import type { OrderState } from '../domain/order';

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

/** The result of a repair. `error`: why it failed, in one line. */
type RepairResult = { repair: Repair } | { repair: 'failed'; error: string };

/** Prints the result of `reconcile` in parts. */
interface Printer {
  open(): Promise<void>;
  /** @param result undefined without `--repair` */
  difference(difference: Difference, result: RepairResult | undefined): Promise<void>;
  close(compared: number, differing: number): Promise<void>;
}

/** For people: a line for each difference. */
function linePrinter(): Printer {
  return {
    open: () => Promise.resolve(),
    difference: ({ kind, orderId, row, run, saved }, result) =>
      write(
        `${orderId} ${kind}: ${DIFFERENCES[kind]} (row: ${describe(row)}; workflow: ${describe(saved)}` +
          `${run?.isRunning ? '' : ', not running'})${result ? `; ${describeRepair(result)}` : ''}\n`,
      ),
    close: (compared, differing) => write(`${compared} compared, ${differing} differ\n`),
  };
}

function describeRepair(result: RepairResult): string {
  return result.repair === 'failed' ? `repair failed: ${result.error}` : REPAIRS[result.repair];
}

function describe(state: OrderState | undefined): string {
  return state ? `version ${state.version}, ${state.status}` : 'none';
}

/** For `--json`: one JSON document. */
function jsonPrinter(): Printer {
  let separator = '';
  return {
    open: () => write('{"differences": ['),
    difference: async ({ kind, orderId, row, run, saved }, result) => {
      const { version = null, status = null } = saved ?? {};
      const body = {
        order_id: orderId,
        seller_id: row?.sellerId ?? run?.sellerId ?? null,
        difference: kind,
        row: row ? { version: row.version, status: row.status } : null,
        workflow: run ? { running: run.isRunning, version, status } : null,
        ...result,
      };
      await write(`${separator}\n  ${JSON.stringify(body)}`);
      separator = ',';
    },
    close: (compared, differing) => write(`\n], "compared": ${compared}, "differing": ${differing}}\n`),
  };
}
