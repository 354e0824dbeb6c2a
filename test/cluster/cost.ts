import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { ProgressEvent } from '../../src/domain/order';
import { closedLoop } from '../bench/load';
import { markdownTable } from '../bench/table';
import { createCaller } from '../chaos/caller';
import type { Cleanup } from '../chaos/cleanup';
import { acknowledged, createLedger } from '../chaos/ledger';
import type { Part } from '../chaos/part';
import { type Shop, Shopper } from '../chaos/shopper';
import { createSeller } from '../support/stack';
import { until } from '../support/until';
import { HARNESS } from './network';
import { type ClusterStack, partsOfHost, startClusterStack } from './stack';

/** What is compared: a stack for each number of history shards, of which both hosts or only the first one runs. */
export const SETUPS: { shards: number; hosts: (1 | 2)[] }[] = [
  { shards: 512, hosts: [2, 1] },
  { shards: 16, hosts: [1] },
];

const CUSTOMERS = 8;
const EVENTS: ProgressEvent[] = ['signup_started', 'approved', 'completed'];
const WARM_UP_ORDERS = 150;
const ORDERS = 400;
const REST_MS = 30_000;
/** Until shards and workflows have moved. */
const SETTLE_MS = 15_000;
/** Of `utime` in /proc. */
const TICK_MS = 10;

/** Sums since the start of the stack. */
interface Sums {
  at: number;
  /** Processor time of each part, in ms. */
  cpu: Record<string, number>;
  /** Of each database. */
  statements: Record<string, number>;
  /** Of each database, in bytes, without commits and what runs in the background. */
  wal: Record<string, number>;
  /** All of it, in bytes. */
  walTotal: number;
}

/** Processor time of a part, with its children that have ended, in ms. */
function cpuOf(part: Part): number {
  return part.pids().reduce((sum, pid, index) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ').slice(11, 15).map(Number);
    const own = fields[0]! + fields[1]!;
    return sum + TICK_MS * (index === 0 ? own + fields[2]! + fields[3]! : own);
  }, 0);
}

async function sumsOf({ hosts, pair, db }: ClusterStack): Promise<Sums> {
  const all = (select: (host: ClusterStack['hosts'][0]) => Part[]): number =>
    hosts.flatMap(select).reduce((sum, part) => sum + cpuOf(part), 0);
  const cpu = {
    ...{
      API: all(({ api }) => [api]),
      worker: all(({ worker }) => [worker]),
      Temporal: all(({ temporal }) => [temporal]),
    },
    ...{ proxies: all(({ proxy, temporalProxy }) => [proxy, temporalProxy]), Postgres: cpuOf(pair.primary) },
  };
  const { rows } = await db.query<{ name: string; calls: number; wal: number }>(
    `select datname as name, sum(calls)::float8 as calls, sum(wal_bytes)::float8 as wal
       from pg_stat_statements s join pg_database d on d.oid = s.dbid group by 1`,
  );
  const total = await db.query<{ bytes: number }>(
    `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as bytes`,
  );
  const by = (value: (row: (typeof rows)[0]) => number): Record<string, number> =>
    Object.fromEntries(rows.map((row) => [row.name, value(row)]));
  const at = performance.now();
  return { at, cpu, statements: by(({ calls }) => calls), wal: by(({ wal }) => wal), walTotal: total.rows[0]!.bytes };
}

/** What `work` adds to each sum. */
async function added(
  stack: ClusterStack,
  work: () => Promise<unknown>,
): Promise<(pick: (sums: Sums) => number) => number> {
  const before = await sumsOf(stack);
  await work();
  const after = await sumsOf(stack);
  return (pick) => pick(after) - pick(before);
}

/** Whole orders, until the last webhook is delivered. @returns orders a second while customers came */
async function whole(stack: ClusterStack, shopper: Shopper, shop: Shop, orders: number): Promise<number> {
  const startedAt = performance.now();
  await closedLoop(CUSTOMERS, orders, async () => {
    const record = await shopper.create(shop, 10);
    for (const event of EVENTS) await shopper.progress(record!, event);
  });
  const perSecond = (1000 * orders) / (performance.now() - startedAt);
  await until(async () => {
    const { rowCount } = await stack.db.query(`select from webhook_event where state = 'pending' limit 1`);
    return rowCount === 0;
  }, 'all webhooks are delivered');
  return perSecond;
}

/** The rows of a setup, with the constants of production. The cost of rest is taken off that of an order, and shown for a second. */
export async function costOf(cleanup: Cleanup, folder: string, { shards, hosts }: (typeof SETUPS)[0]) {
  const stack = await startClusterStack(cleanup, folder, { shards, settings: { TEST_CONSTANTS: '{}' } });
  await stack.db.query('create extension pg_stat_statements');
  const seller = await createSeller(stack.db, undefined, { sandbox: true });
  const shop: Shop = { ...seller, webhookUrl: `http://${HARNESS}:${stack.receiver.port}/steady`, isHosted: false };
  const ledger = createLedger();
  const caller = createCaller(stack.apiUrls, ledger);
  cleanup.add(() => caller.close());
  const shopper = new Shopper(caller, ledger, stack.checkoutKey, false, false);
  const rows: string[][] = [];
  for (const count of hosts) {
    if (count === 1) for (const part of partsOfHost(stack.hosts[1]).toReversed()) await part.end('SIGTERM');
    await delay(SETTLE_MS);
    await whole(stack, shopper, shop, WARM_UP_ORDERS);
    let perSecond = 0;
    const busy = await added(stack, async () => (perSecond = await whole(stack, shopper, shop, ORDERS)));
    await delay(SETTLE_MS);
    const rest = await added(stack, () => delay(REST_MS));
    const perOrder = (pick: (sums: Sums) => number): string => {
      const idle = (rest(pick) / rest(({ at }) => at)) * busy(({ at }) => at);
      return ((busy(pick) - idle) / ORDERS).toFixed(1);
    };
    const atRest = (pick: (sums: Sums) => number): string => ((1000 * rest(pick)) / rest(({ at }) => at)).toFixed(1);
    const figures: [string, (sums: Sums) => number][] = [
      ...['API', 'worker', 'Temporal', 'Postgres', 'proxies'].map((part): [string, (sums: Sums) => number] => [
        `${part}, ms`,
        ({ cpu }) => cpu[part]!,
      ]),
      ...['orders', 'temporal', 'temporal_visibility'].flatMap((database): [string, (sums: Sums) => number][] => [
        [`statements, ${database}`, ({ statements }) => statements[database] ?? 0],
        [`WAL, ${database}, kB`, ({ wal }) => (wal[database] ?? 0) / 1000],
      ]),
      ['WAL, all of it, kB', ({ walTotal }) => walTotal / 1000],
    ];
    const setup = `${shards} shards, ${count} host${count > 1 ? 's' : ''}`;
    rows.push([setup, 'whole orders a second', perSecond.toFixed(1), '']);
    for (const [what, pick] of figures) rows.push([setup, what, perOrder(pick), atRest(pick)]);
  }
  const problems = [
    ...ledger.complaints,
    ...(acknowledged(ledger).length < ledger.orders.length ? ['an order is missing'] : []),
  ];
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return markdownTable(['setup', 'what', 'for an order', 'at rest, for a second'], rows);
}
