import { DIFFERENCES, type Difference } from '../orders/reconcile';
import { REPAIRS, type Repair } from '../orders/repair-difference';
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
    difference: ({ kind, orderId, row, workflow }, result) =>
      write(
        `${orderId} ${kind}: ${DIFFERENCES[kind]} (row: ${row ? `version ${row.version}, ${row.status}` : 'none'}; ` +
          `workflow: ${describe(workflow)})${result ? `; ${describeRepair(result)}` : ''}\n`,
      ),
    close: (compared, differing) => write(`${compared} compared, ${differing} differ\n`),
  };
}

function describeRepair(result: RepairResult): string {
  return result.repair === 'failed' ? `repair failed: ${result.error}` : REPAIRS[result.repair];
}

function describe(workflow: Difference['workflow']): string {
  if (!workflow) return 'none';
  const { running, saved } = workflow;
  const text = saved ? `version ${saved.order.version}, ${saved.order.status}` : 'unknown';
  return running ? text : `${text}, not running`;
}

/** For `--json`: one JSON document. */
export function jsonPrinter(): Printer {
  let separator = '';
  return {
    open: () => write('{"differences": ['),
    difference: async ({ kind, orderId, row, workflow }, result) => {
      const { running = false, saved } = workflow ?? {};
      const { version = null, status = null } = saved?.order ?? {};
      const body = {
        order_id: orderId,
        seller_id: row?.sellerId ?? workflow?.sellerId ?? null,
        difference: kind,
        row: row ? { version: row.version, status: row.status } : null,
        workflow: workflow ? { running, version, status } : null,
        ...result,
      };
      await write(`${separator}\n  ${JSON.stringify(body)}`);
      separator = ',';
    },
    close: (compared, differing) => write(`\n], "compared": ${compared}, "differing": ${differing}}\n`),
  };
}
