import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createCaller } from '../caller';
import { type Cell, type Scene, expectHits, faultMs, oneOf } from '../cell';
import { type OrderRecord, acknowledged, seemsOpen } from '../ledger';
import { restart } from '../part';
import type { Launch, ServicePart } from '../service-part';
import { type Shop, Shopper } from '../shopper';
import { HEALS_WITHIN_MS, changedIn } from './operators';

/** How long the index takes to build. */
const BUILD_S = 6;
const MOST_WEDGED = 20;
/** Nobody has called about an order for this long: hardly any has a workflow task in progress. */
const AT_REST_MS = 1500;

const services = ({ stack }: Scene): ServicePart[] => [...stack.apis, ...stack.workers];

async function rollTo(scene: Scene, root: string | undefined): Promise<void> {
  for (const part of services(scene)) {
    part.relaunchWith(root === undefined ? {} : { root });
    await restart(part, 'SIGTERM');
  }
}

/** A column, and an index that takes seconds to build. */
async function migrateSlowly({ stack: { db, postgres } }: Scene): Promise<void> {
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
}

/** Deploys workflow code that cannot continue some running orders, and checks that they are replaced. */
async function deployMistake(scene: Scene): Promise<void> {
  const { stack, ledger, memory } = scene;
  const wedgedAt = performance.now();
  // A task that the old worker leaves behind times out, and the SDK reports no failure of its next attempts.
  const isAtRest = ({ sellerId, answers }: OrderRecord): boolean =>
    !shopOf(scene, sellerId).isHosted && answers.every(({ endedAt }) => endedAt < wedgedAt - AT_REST_MS);
  const orders = acknowledged(ledger)
    .filter(({ record }) => seemsOpen(record) && isAtRest(record))
    .slice(-MOST_WEDGED);
  const ids = orders.map(({ id }) => id);
  for (const id of ids) changedIn(memory).add(id);
  const deploy = async (next: Partial<Launch>): Promise<void> => {
    for (const worker of stack.workers) worker.relaunchWith(next);
    await Promise.all(stack.workers.map((worker) => restart(worker, 'SIGTERM')));
  };
  try {
    await deploy({ preload: 'wrong-workflow', env: { CHAOS_ORDERS: JSON.stringify(ids) } });
    await cancelAll(scene, orders, wedgedAt + HEALS_WITHIN_MS);
    const lines = stack.workers.flatMap((worker) => worker.log());
    const isReplaced = (id: string): boolean =>
      lines.some((line) => line.includes(id) && line.includes('the workflow tasks of a run keep failing'));
    expectHits(ids.filter(isReplaced).length, 'run replaced because its workflow tasks keep failing');
  } finally {
    await deploy({});
  }
}

/** The shops cancel these orders. A cancel that has not succeeded by the deadline is a complaint. */
async function cancelAll(scene: Scene, orders: ReturnType<typeof acknowledged>, deadline: number): Promise<void> {
  const { stack, ledger } = scene;
  const caller = createCaller(stack.apiUrls, ledger);
  caller.giveUpAt(deadline);
  const shopper = new Shopper(caller, ledger, stack.checkoutKey, true, false);
  await Promise.all(orders.map(({ record }) => shopper.cancel(shopOf(scene, record.sellerId), record, true)));
  await caller.close();
}

const shopOf = ({ shops }: Scene, sellerId: string): Shop => shops.find(({ id }) => id === sellerId)!;

export const DEPLOYMENT_CELLS: Cell[] = [
  {
    name: 'an upgrade: a slow migration, then a rolling restart',
    async strike(scene) {
      await migrateSlowly(scene);
      await rollTo(scene, undefined);
    },
  },
  {
    name: 'a deployment that cannot continue running orders',
    strike: deployMistake,
    spares: 'API',
    allowed: ({ memory }) => ({ operators: true, failedRuns: changedIn(memory) }),
  },
  {
    name: 'two versions',
    skip: ({ oldRoot }) =>
      oldRoot === undefined ? 'needs --old-root, the folder of another version with its dist/' : undefined,
    ...oneOf({
      async 'old and new version at once'(scene) {
        for (const part of [scene.stack.apis[0], scene.stack.workers[0]]) {
          part.relaunchWith({ root: scene.oldRoot! });
          await restart(part, 'SIGTERM');
        }
        await delay(faultMs(scene.random));
        await rollTo(scene, undefined);
      },
      async 'a roll back to the old version, and forward again'(scene) {
        await rollTo(scene, scene.oldRoot);
        await rollTo(scene, undefined);
      },
    }),
  },
];
