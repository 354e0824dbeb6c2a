import { DIFFERENCES, REPAIRS, type Difference, type Repair } from '../orders/reconcile';
import type { OrderState } from '../domain/order';
import { write } from './output';

/** The result of a repair. `error`: why it failed, in one line. */
export type RepairResult = { repair: Repair } | { repair: 'failed'; error: string };

/** Prints the result of `reconcile` in parts. */
interface Printer {
  open(): Promise<void>;
  /** @param result undefined without `--repair` */
  difference(difference: Difference, result: RepairResult | undefined): Promise<void>;
  close(compared: number, differing: number): Promise<void>;
}

/** For people: a line for each difference. */
export function linePrinter(): Printer {
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
export function jsonPrinter(): Printer {
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
