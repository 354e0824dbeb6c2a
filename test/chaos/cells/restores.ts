import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Cell, faultMs } from '../cell';
import { freeze, restart } from '../part';
import { lostOf, repairAll, repairOnce } from '../reconcile';
import type { PostgresPart, TemporalPart } from '../store-parts';

type Store = PostgresPart | TemporalPart;

const run = promisify(execFile);

/** Copies the files of a frozen store, like a snapshot of its disk. */
async function backUp(store: Store): Promise<void> {
  await run('rm', ['-rf', `${store.dataDir}.copy`]);
  await freeze(store, () => run('cp', ['-a', store.dataDir, `${store.dataDir}.copy`]));
}

async function putBack(store: Store): Promise<void> {
  await store.end('SIGKILL');
  await run('rm', ['-rf', store.dataDir]);
  await run('mv', [`${store.dataDir}.copy`, store.dataDir]);
  await store.start();
}

export const RESTORE_CELLS: Cell[] = [
  {
    name: 'Postgres is restored from a copy',
    group: 'restores, clocks and operators',
    restores: true,
    async strike(scene) {
      const { stack, random } = scene;
      await backUp(stack.postgres);
      await delay(faultMs(random));
      await putBack(stack.postgres);
      await repairOnce(scene);
    },
    repair: repairAll,
    allowed: ({ memory }) => ({ restored: true, reportedLost: lostOf(memory) }),
  },
  {
    name: 'Temporal is restored from a copy',
    group: 'restores, clocks and operators',
    slow: true,
    async strike(scene) {
      const { stack, random } = scene;
      await backUp(stack.temporal);
      await delay(faultMs(random));
      await putBack(stack.temporal);
      // As docs/operations.md describes.
      await Promise.all(stack.workers.map((worker) => restart(worker, 'SIGTERM')));
      await repairOnce(scene);
    },
    repair: repairAll,
  },
];
