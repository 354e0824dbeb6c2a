import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { migrate } from '../../src/db/run-migrations';
import { MIGRATIONS_FOLDER, readMigrations } from '../../src/db/migrations';
import { findTemporalCli } from '../../tools/local-stack/temporal-cli';
import { insertClosedOrders } from '../bench/insert-orders';
import { percentile } from '../bench/statistics';
import { markdownTable } from '../bench/table';
import { exitWith } from '../support/exit-with';
import { migrationFaults } from '../support/migration-faults';
import { createSeller } from '../support/stack';
import type { Cell, Scene } from './cell';
import { createCleanup } from './cleanup';
import { explain } from './explain';
import { runCell } from './run';
import { startChaosStack } from './stack';

/**
 * `npm run slow-migration -- --rows 1000000`: applies migrations to a large database while orders are created, read, completed
 * and cancelled, then checks every invariant, and that no call was refused. Prints the times.
 */
const { values } = parseArgs({
  options: { rows: { type: 'string', default: '1000000' }, rate: { type: 'string', default: '6' } },
});
const CHUNK = 100_000;
/** Longer than a migration waits for a lock. */
const DUMP_MS = 5000;

/** Each as a release would write it. */
const FILES: [what: string, sql: string][] = [
  ['a column, while a dump holds the table', 'alter table orders add column origin text;'],
  [
    'an index',
    '-- no-transaction\ncreate index concurrently orders_by_source on orders (source, created_at desc, id desc);',
  ],
  [
    'the column filled for every order, in batches',
    `-- no-transaction
do $$
declare
  v_last uuid := '00000000-0000-0000-0000-000000000000';
  v_ids uuid[];
begin
  loop
    select array_agg(id order by id) into v_ids
      from (select id from orders where id > v_last order by id limit 1000) batch;
    exit when v_ids is null;
    update orders set origin = coalesce(source, 'api') where id = any(v_ids);
    v_last := v_ids[cardinality(v_ids)];
    commit;
  end loop;
end $$;`,
  ],
  ['a constraint', 'alter table orders add constraint orders_origin check (length(origin) <= 100) not valid;'],
  ['the constraint validated', 'alter table orders validate constraint orders_origin;'],
];

interface Applied {
  what: string;
  ms: number;
  retries: number;
  /** Of the calls that were answered meanwhile, in ms. */
  times: number[];
}

async function fill(url: string, sellerId: string, rows: number): Promise<void> {
  const db = new pg.Pool({ connectionString: url, max: 1 });
  for (let done = 0; done < rows; done += CHUNK) await insertClosedOrders(db, sellerId, Math.min(CHUNK, rows - done));
  await db.end();
}

/** Reads the orders in a transaction, as `pg_dump` does. */
async function holdDump(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('begin; select from orders limit 1');
  void delay(DUMP_MS).then(() => client.end());
}

const timesSince = ({ ledger }: Scene, from: number): number[] =>
  ledger.orders
    .flatMap(({ answers }) => answers)
    .filter(({ endedAt }) => endedAt >= from)
    .map(({ startedAt, endedAt }) => endedAt - startedAt);

async function applyAll(scene: Scene, folder: string): Promise<Applied[]> {
  const url = scene.stack.postgres.url();
  const applied: Applied[] = [];
  for (const [index, [what, sql]] of FILES.entries()) {
    writeFileSync(path.join(folder, `${String(index + 2).padStart(4, '0')}_slow.sql`), sql);
    const newest = (await readMigrations(folder)).at(-1)!;
    const faults = migrationFaults(newest, '99.0.0');
    if (faults.length > 0) throw new Error(`${what}: ${faults.join('; ')}`);
    if (index === 0) await holdDump(url);
    let retries = 0;
    const startedAt = performance.now();
    await migrate(url, { folder, onBusy: () => (retries += 1) });
    const ms = performance.now() - startedAt;
    // Calls that the migration has delayed end a moment later.
    await delay(1000);
    applied.push({ what, ms, retries, times: timesSince(scene, startedAt) });
    console.log(`${what}: ${(ms / 1000).toFixed(1)} s, ${retries} retries`);
  }
  return applied;
}

const inMs = (times: readonly number[], part: number): string =>
  times.length === 0 ? '–' : String(Math.round(percentile(times, part)));

function tableOf(before: readonly number[], applied: readonly Applied[]): string {
  const cells = (what: string, seconds: string, times: readonly number[]) => [
    ...[what, seconds, times.length],
    ...[0.5, 0.99, 1].map((part) => inMs(times, part)),
  ];
  return markdownTable(
    ['migration', 'took, s', 'calls meanwhile', 'p50, ms', 'p99, ms', 'longest, ms'],
    [
      cells('none: before', '', before),
      ...applied.map(({ what, ms, retries, times }) =>
        cells(retries > 0 ? `${what}: ${retries} retries` : what, (ms / 1000).toFixed(1), times),
      ),
    ],
  );
}

async function run(): Promise<number> {
  const rows = Number(values.rows);
  await findTemporalCli(console.log);
  const cleanup = createCleanup();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => void cleanup.run().then(() => process.exit(130)));
  const folder = mkdtempSync(path.join(tmpdir(), 'order-service-slow-migration-'));
  cleanup.add(() => rmSync(folder, { recursive: true }));
  try {
    for (const file of readdirSync(MIGRATIONS_FOLDER)) {
      copyFileSync(path.join(MIGRATIONS_FOLDER, file), path.join(folder, file));
    }
    const stack = await startChaosStack(cleanup, false);
    console.log(`inserting ${rows.toLocaleString('en-GB')} orders`);
    await fill(stack.postgres.url(), (await createSeller(stack.db)).id, rows);
    let before: number[] = [];
    let applied: Applied[] = [];
    let repeats: string[] = [];
    const cell: Cell = {
      name: 'a slow migration',
      async strike(scene) {
        before = timesSince(scene, 0);
        applied = await applyAll(scene, folder);
        repeats = scene.ledger.repeats;
      },
    };
    const result = await runCell(stack, cell, { seed: 1, rate: Number(values.rate), oldRoot: undefined });
    if (result.broken.length > 0) console.log(explain(result.broken, result.facts, stack));
    for (const repeat of repeats) console.log(`refused: ${repeat}`);
    const refused = repeats.length;
    const summary =
      `${rows.toLocaleString('en-GB')} orders in Postgres, ${result.orders} more created meanwhile, ${result.calls} calls: ` +
      `${refused === 0 ? 'none' : refused} refused, ${result.broken.length} broken invariants. \`npm run slow-migration -- --rows ${rows}\`, ` +
      `${new Date().toISOString().slice(0, 10)}, 2 cores that all parts share.`;
    console.log(`\n${tableOf(before, applied)}\n\n${summary}`);
    return refused + result.broken.length === 0 ? 0 : 1;
  } finally {
    await cleanup.run();
  }
}

exitWith(run());
