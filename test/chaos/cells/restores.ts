import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { until } from '../../support/until';
import { type Cell, expectHits, faultMs } from '../cell';
import { freeze } from '../part';
import { repairAll, restoreAndRepair, restoredBetween } from '../reconcile';
import type { ChaosStack } from '../stack';
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

/** @param readIds what the store has since the copy */
async function putBack(store: Store, readIds: () => Promise<string[]>): Promise<void> {
  const ids = await readIds();
  await store.end('SIGKILL');
  await run('rm', ['-rf', store.dataDir]);
  await run('mv', [`${store.dataDir}.copy`, store.dataDir]);
  await store.start();
  // Connections of before are broken.
  const left = await until(() => readIds().catch(() => undefined), `${store.name} answers`);
  expectHits(ids.filter((id) => !left.includes(id)).length, 'order that was undone');
}

const putBackPostgres = ({ postgres, db }: ChaosStack, copiedAt: number): Promise<void> =>
  putBack(postgres, async () => {
    const { rows } = await db.query<{ id: string }>('select id from orders where created_at > $1', [
      new Date(copiedAt),
    ]);
    return rows.map(({ id }) => id);
  });

const putBackTemporal = ({ temporal, client }: ChaosStack, copiedAt: number): Promise<void> =>
  putBack(temporal, async () => {
    const runs = client.workflow.list({ query: `StartTime > '${new Date(copiedAt).toISOString()}'` });
    const ids: string[] = [];
    for await (const { runId } of runs) ids.push(runId);
    return ids;
  });

export const RESTORE_CELLS: Cell[] = [
  {
    name: 'Postgres is restored from a copy',
    restores: true,
    async strike(scene) {
      const { stack, random } = scene;
      const copiedAt = Date.now();
      scene.memory.set('from', copiedAt - RECORDED_WITHIN_MS);
      await backUp(stack.postgres);
      await delay(faultMs(random));
      await restoreAndRepair(scene, async () => {
        await putBackPostgres(stack, copiedAt);
        scene.memory.set('to', Date.now());
      });
    },
    repair: repairAll,
    allowed: ({ memory }) => restoredBetween(memory),
  },
  {
    name: 'Temporal is restored from a copy',
    async strike(scene) {
      const { stack, random } = scene;
      await backUp(stack.temporal);
      const copiedAt = Date.now();
      await delay(faultMs(random));
      await restoreAndRepair(scene, () => putBackTemporal(stack, copiedAt));
    },
    repair: repairAll,
    allowed: () => ({ failedRuns: 'all', forgottenRuns: true }),
  },
];
