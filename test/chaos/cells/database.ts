import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type Cell, type Scene, expectHits, faultMs, oneOf } from '../cell';
import { inTransaction } from '../../../src/db/pool';
import { stopImmediately } from '../store-parts';

/** Leaves only the connections of superusers, and with this name, to the harness. */
const HARNESS = 'chaos';
const TOO_MANY_CONNECTIONS = '53300';

async function connect({ stack }: Scene): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: stack.postgres.url(), application_name: HARNESS });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** @returns how many connections of the service it ended */
async function terminateBackends(client: pg.Client): Promise<number> {
  const { rowCount } = await client.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'order-service' and backend_type = 'client backend'`);
  return rowCount ?? 0;
}

/** Makes a third of the transactions that write to these tables fail at their commit, in Postgres itself. */
async function failCommits({ stack: { db }, random }: Scene): Promise<void> {
  const tables = ['orders', 'order_timeline', 'webhook_event', 'webhook_attempt'];
  // A rollback does not undo `nextval`: serialization failures and deadlocks take turns.
  await db.query('create sequence chaos_failures');
  await db.query(`create or replace function chaos_fail() returns trigger language plpgsql as $$ begin
    if random() < 0.33 then
      raise exception 'chaos' using errcode = case nextval('chaos_failures') % 2 when 0 then '40001' else '40P01' end;
    end if;
    return null; end $$`);
  for (const table of tables) {
    await db.query(`create constraint trigger chaos_fail after insert or update on ${table}
      deferrable initially deferred for each row execute function chaos_fail()`);
  }
  await delay(faultMs(random));
  for (const table of tables) await db.query(`drop trigger chaos_fail on ${table}`);
  const { rows } = await db.query<{ count: number }>('select last_value::integer as count from chaos_failures');
  await db.query('drop sequence chaos_failures');
  expectHits(rows[0]!.count - 1, 'commit that failed in each way');
}

async function lockOrders({ stack: { db }, random }: Scene): Promise<void> {
  await inTransaction(db, async (client) => {
    await client.query('set local idle_in_transaction_session_timeout = 0');
    await client.query('lock table orders in share row exclusive mode');
    await delay(faultMs(random));
    const { rowCount } = await client.query("select from pg_locks where relation = 'orders'::regclass and not granted");
    expectHits(rowCount ?? 0, 'transaction that waits for the lock');
  });
}

async function useUpDisk({ stack: { db, disk, postgres }, random }: Scene): Promise<void> {
  postgres.expectEnd();
  const filler = path.join(disk!, 'filler');
  fillDisk(disk!, filler);
  const refused = await db.query('create table chaos as select generate_series(1, 100000)').then(
    () => 0,
    () => 1,
  );
  await delay(faultMs(random));
  rmSync(filler);
  await delay(500);
  if (!postgres.isRunning()) await postgres.start();
  expectHits(refused, 'write refused because the disk is full');
}

async function stopAtOnce({ stack: { postgres }, random }: Scene): Promise<void> {
  await stopImmediately(postgres);
  await delay(random.between(0, 3000));
  await postgres.start();
}

async function endBackends(scene: Scene): Promise<void> {
  const client = await connect(scene);
  const until = performance.now() + faultMs(scene.random);
  let hits = 0;
  while (performance.now() < until) {
    hits += await terminateBackends(client);
    await delay(200);
  }
  await client.end();
  expectHits(hits, 'backend');
}

async function takeConnections(scene: Scene): Promise<void> {
  const first = await connect(scene);
  const taken = [first];
  let [hits, refusals] = [0, 0];
  // The service gets some of the connections that it loses, and loses them again.
  const takeAll = async (): Promise<void> => {
    hits += await terminateBackends(first);
    for (;;) {
      const client = await connect(scene).catch((error: unknown) => {
        if ((error as { code?: string }).code === TOO_MANY_CONNECTIONS) refusals += 1;
      });
      if (!client) return;
      taken.push(client);
    }
  };
  await takeAll();
  const until = performance.now() + faultMs(scene.random);
  while (performance.now() < until) {
    await delay(200);
    await takeAll();
  }
  await Promise.all(taken.map((client) => client.end().catch(() => undefined)));
  expectHits(hits, 'backend');
  expectHits(refusals, 'connection refused because all are taken');
}

const FULL_DISK = 'a full disk';

export const DATABASE_CELLS: Cell[] = [
  {
    name: 'Postgres refuses or delays writes',
    skip: ({ disk, variant }) =>
      variant === FULL_DISK && disk === undefined ? 'needs the right to mount a file system' : undefined,
    ...oneOf({
      'a third of the commits fail': failCommits,
      'a lock on the orders table': lockOrders,
      [FULL_DISK]: useUpDisk,
    }),
  },
  {
    name: 'Postgres ends connections',
    ...oneOf({
      'an immediate stop': stopAtOnce,
      'all backends terminated, again and again': endBackends,
      'all connections taken': takeConnections,
    }),
  },
];

/** Takes all free space for this file. Postgres can take some of what was measured as free, so it is measured again. */
function fillDisk(disk: string, filler: string): void {
  for (let triesLeft = 5; ; triesLeft -= 1) {
    const { bavail, bsize } = statfsSync(disk);
    try {
      execFileSync('fallocate', ['--length', String(bavail * bsize), filler], { stdio: 'pipe' });
      return;
    } catch (error) {
      if (triesLeft === 0) throw error;
    }
  }
}
