import { DIFFERENCES, type Difference } from '../orders/reconcile';
import { REPAIRS, type Repair } from '../orders/repair-difference';
import { write } from './output';

/** Prints the result of `reconcile` in parts. */
interface Printer {
  open(): Promise<void>;
  /** @param repair undefined without `--repair` */
  difference(difference: Difference, repair: Repair | undefined): Promise<void>;
  close(checked: number, differing: number): Promise<void>;
}

/** For people: a line for each difference. */
export function linePrinter(): Printer {
  return {
    open: () => Promise.resolve(),
    difference: ({ kind, orderId, row, workflow }, repair) =>
      write(
        `${orderId} ${kind}: ${DIFFERENCES[kind]} (row: ${row ? `version ${row.version}, ${row.status}` : 'none'}; ` +
          `workflow: ${describe(workflow)})${repair === undefined ? '' : `; ${REPAIRS[repair]}`}\n`,
      ),
    close: (checked, differing) => write(`${checked} compared, ${differing} differ\n`),
  };
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
    difference: async ({ kind, orderId, row, workflow }, repair) => {
      const { running = false, saved } = workflow ?? {};
      const { version = null, status = null } = saved?.order ?? {};
      const body = {
        order_id: orderId,
        seller_id: row?.sellerId ?? workflow?.sellerId ?? null,
        difference: kind,
        row: row ? { version: row.version, status: row.status } : null,
        workflow: workflow ? { running, version, status } : null,
        ...(repair !== undefined && { repair }),
      };
      await write(`${separator}\n  ${JSON.stringify(body)}`);
      separator = ',';
    },
    close: (checked, differing) => write(`\n], "compared": ${checked}, "differing": ${differing}}\n`),
  };
}
