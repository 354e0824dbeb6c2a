import { DIFFERENCES, type Difference } from '../orders/reconcile';
import { write } from './output';

/** Prints the result of `reconcile` in parts. */
interface Printer {
  open(): Promise<void>;
  /** @param handedToSweep undefined without `--repair` */
  difference(difference: Difference, handedToSweep: boolean | undefined): Promise<void>;
  close(checked: number, differing: number): Promise<void>;
}

/** For people: a line for each difference. */
export function linePrinter(): Printer {
  return {
    open: () => Promise.resolve(),
    difference: ({ kind, row, workflow }, handedToSweep) => {
      const outcome = handedToSweep ? '; handed to the sweep' : '; the sweep cannot repair it';
      return write(
        `${row.id} ${kind}: ${DIFFERENCES[kind]} (row: version ${row.version}, ${row.status}; ` +
          `workflow: ${describe(workflow)})${handedToSweep === undefined ? '' : outcome}\n`,
      );
    },
    close: (checked, differing) => write(`${checked} compared, ${differing} differ\n`),
  };
}

function describe(workflow: Difference['workflow']): string {
  if (!workflow) return 'none';
  const { running, state } = workflow;
  const text = state ? `version ${state.version}, ${state.status}` : 'no response';
  return running ? text : `${text}, not running`;
}

/** For `--json`: one JSON document. */
export function jsonPrinter(): Printer {
  let separator = '';
  return {
    open: () => write('{"differences": ['),
    difference: async ({ kind, row, workflow }, handedToSweep) => {
      const { running = false, state } = workflow ?? {};
      const body = {
        order_id: row.id,
        seller_id: row.sellerId,
        difference: kind,
        row: { version: row.version, status: row.status },
        workflow: workflow ? { running, version: state?.version ?? null, status: state?.status ?? null } : null,
        ...(handedToSweep !== undefined && { handed_to_sweep: handedToSweep }),
      };
      await write(`${separator}\n  ${JSON.stringify(body)}`);
      separator = ',';
    },
    close: (checked, differing) => write(`\n], "compared": ${checked}, "differing": ${differing}}\n`),
  };
}
