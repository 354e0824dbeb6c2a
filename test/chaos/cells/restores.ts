import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Cell, faultMs } from '../cell';
import { freeze, restart } from '../part';
import { lostOf, rebuildRows, repairAll, repairOnce } from '../reconcile';
import { relaunch } from '../service-part';
import { REGULAR_CHECKS } from '../stack';
import type { PostgresPart, TemporalPart } from '../store-parts';

type Store = PostgresPart | TemporalPart;

const run = promisify(execFile);

/** A webhook that was received before the copy can be recorded after it. */
const RECORDED_WITHIN_MS = 1000;

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
      scene.memory.set('copiedAt', Date.now());
      await backUp(stack.postgres);
      await delay(faultMs(random));
      await putBack(stack.postgres);
      scene.memory.set('restoredAt', Date.now());
      await rebuildRows(scene);
    },
    repair: repairAll,
    allowed: ({ memory }) => ({
      restored: {
        from: ((memory.get('copiedAt') as number | undefined) ?? -Infinity) - RECORDED_WITHIN_MS,
        to: (memory.get('restoredAt') as number | undefined) ?? Infinity,
      },
      reportedLost: lostOf(memory),
      failedRuns: true,
    }),
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
    allowed: () => ({ failedRuns: true, forgottenRuns: true }),
  },
  {
    name: 'Temporal is restored from a copy, and nobody does anything',
    group: 'restores, clocks and operators',
    slow: true,
    // An order that nobody calls is repaired by its regular check.
    prepare: ({ stack }) => relaunch([...stack.apis, ...stack.workers], REGULAR_CHECKS),
    async strike({ stack, random, memory }) {
      await backUp(stack.temporal);
      await delay(faultMs(random));
      await putBack(stack.temporal);
      memory.set('restoredAt', Date.now());
    },
    allowed: ({ memory }) => ({
      failedRuns: true,
      forgottenRuns: true,
      // Workers that are not restarted continue these runs from a state that the restored history does not have.
      cachedUntil: memory.get('restoredAt') as number | undefined,
    }),
  },
];
