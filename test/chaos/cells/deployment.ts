import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type Cell, type Scene, faultMs } from '../cell';
import { restart } from '../part';
import type { ServicePart } from '../service-part';

/** How long the index takes to build. */
const BUILD_S = 6;

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
    async strike({ stack: { db, postgres } }) {
      const { rows } = await db.query<{ count: number }>('select count(*)::integer from order_timeline');
      const client = new pg.Client({ connectionString: postgres.url() });
      await client.connect();
      try {
        await client.query("set lock_timeout = '2s'");
        await client.query('alter table orders add column chaos text');
        await client.query(`create function chaos_slow(uuid) returns integer immutable language plpgsql as
          'begin perform pg_sleep(${BUILD_S / Math.max(rows[0]!.count, 1)}); return 1; end'`);
        await client.query('create index concurrently chaos_slow on order_timeline (chaos_slow(order_id))');
        await client.query('drop index concurrently chaos_slow');
        await client.query('drop function chaos_slow');
        await client.query('alter table orders drop column chaos');
      } finally {
        await client.end();
      }
    },
  },
];
