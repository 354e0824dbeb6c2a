import { writeFileSync } from 'node:fs';
import { createCleanup } from '../chaos/cleanup';
import { explain } from '../chaos/explain';
import { runCell } from '../chaos/run';
import { CELLS } from './cells';
import { printCost } from './cost';
import { copyBuild } from './servers';
import { startClusterStack } from './stack';

/*
 * A run of a cell: `node run-cell.js <name> <seed> <rate> <folder> <folder of another release>`, in namespaces of its own, which end with it.
 * Writes `result.json` in the folder. Instead of a cell, `cost` measures what an order costs.
 */
const [, , name = '', seed = '', rate = '', folder = '', root = ''] = process.argv;

/** Creates and reads that no change holds up, besides the customers: per second. */
const ABANDONED_RATE = 2;

async function run(): Promise<void> {
  const cell = CELLS.find((one) => one.name === name) ?? CELLS[0]!;
  const cleanup = createCleanup();
  try {
    const stack = await startClusterStack(cleanup, folder, cell);
    const options = { seed: Number(seed), rate: Number(rate), abandonedRate: ABANDONED_RATE };
    if (name === 'cost') {
      await printCost(stack);
      return;
    }
    const oldRoot = root || copyBuild(folder, '9.9.9');
    const { broken, facts, ...result } = await runCell(stack, cell, { ...options, oldRoot });
    if (broken.length > 0) console.log(explain(broken, facts, stack));
    writeFileSync(`${folder}/result.json`, JSON.stringify({ ...result, broken, figures: cell.figures() }));
  } finally {
    await cleanup.run();
  }
}

run().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
