import { writeFileSync } from 'node:fs';
import { createCleanup } from '../chaos/cleanup';
import { explain } from '../chaos/explain';
import { runCell } from '../chaos/run';
import { CELLS } from './cells';
import { copyBuild } from './servers';
import { startClusterStack } from './stack';
import { printTemporalAlone } from './temporal-alone';

/*
 * A run of a cell: `node run-cell.js <name> <seed> <rate> <folder> <folder of another release>`, in namespaces of its own, which end with it.
 * Writes `result.json` in the folder. Instead of a cell, `temporal` breaks only Temporal.
 */
const [, , name = '', seed = '', rate = '', folder = '', root = ''] = process.argv;

/** Creates and reads that no change holds up, besides the customers: per second. */
const ABANDONED_RATE = 2;

async function run(): Promise<void> {
  const cell = CELLS.find((one) => one.name === name) ?? CELLS[0]!;
  const cleanup = createCleanup();
  try {
    if (name === 'temporal') {
      await printTemporalAlone(cleanup, folder);
      writeFileSync(`${folder}/result.json`, '{}');
      return;
    }
    const stack = await startClusterStack(cleanup, folder, cell);
    const options = { seed: Number(seed), rate: Number(rate), abandonedRate: ABANDONED_RATE };
    const oldRoot = root || copyBuild(folder, '9.9.9');
    const { broken, facts, ...result } = await runCell(stack, cell, { ...options, oldRoot });
    if (broken.length > 0) console.log(explain(broken, facts, stack));
    writeFileSync(`${folder}/result.json`, JSON.stringify({ ...result, broken, figures: cell.figures() }));
  } finally {
    await cleanup.run();
  }
}

// All processes end with this one, also if its parent is killed.
process.stdin.resume().on('end', () => process.exit(1));

run().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
