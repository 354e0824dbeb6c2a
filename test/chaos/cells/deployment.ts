import { setTimeout as delay } from 'node:timers/promises';
import { type Cell, type Scene, faultMs } from '../cell';
import { restart } from '../part';
import type { ServicePart } from '../service-part';

const services = ({ stack }: Scene): ServicePart[] => [...stack.apis, ...stack.workers];

async function rollTo(scene: Scene, root: string | undefined): Promise<void> {
  for (const part of services(scene)) {
    part.relaunchWith(root === undefined ? {} : { root });
    await restart(part, 'SIGTERM');
  }
}

const needsOldVersion = ({ oldRoot }: Pick<Scene, 'oldRoot'>): string | undefined =>
  oldRoot === undefined ? 'needs --old-root, the folder of another version with its dist/' : undefined;

export const DEPLOYMENT_CELLS: Cell[] = [
  {
    name: 'a rolling restart',
    group: 'deployment',
    strike: (scene) => rollTo(scene, undefined),
  },
  {
    name: 'old and new version at once',
    group: 'deployment',
    skip: needsOldVersion,
    async strike(scene) {
      for (const part of [scene.stack.apis[0], scene.stack.workers[0]]) {
        part.relaunchWith({ root: scene.oldRoot! });
        await restart(part, 'SIGTERM');
      }
      await delay(faultMs(scene.random));
      await rollTo(scene, undefined);
    },
  },
  {
    name: 'a roll back to the old version, and forward again',
    group: 'deployment',
    skip: needsOldVersion,
    async strike(scene) {
      await rollTo(scene, scene.oldRoot);
      await rollTo(scene, undefined);
    },
  },
  {
    name: 'a slow migration: a column and an index that takes seconds to build',
    group: 'deployment',
    async strike({ stack: { db } }) {
      const client = await db.connect();
      try {
        await client.query('set statement_timeout = 0');
        await client.query('alter table orders add column chaos text');
        // About 5 s of building for the orders of a run.
        await client.query(`create or replace function chaos_slow(uuid) returns integer immutable language plpgsql as
          'begin perform pg_sleep(0.01); return 1; end'`);
        await client.query('create index concurrently chaos_slow on order_timeline (chaos_slow(order_id))');
        await client.query('drop index concurrently chaos_slow');
        await client.query('alter table orders drop column chaos');
        await client.query('set statement_timeout = 5000');
      } finally {
        client.release(true);
      }
    },
  },
];
