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

const DATABASES = ['orders', 'temporal', 'temporal_visibility'];
const CUSTOMERS = 8;
const EVENTS: ProgressEvent[] = ['signup_started', 'approved', 'completed'];
const WARM_UP_ORDERS = 150;
const ORDERS = 400;
const REST_MS = 30_000;
/** Until shards and workflows have moved. */
const SETTLE_MS = 15_000;
/** Of the four times in /proc/<pid>/stat: user and system, of the process and of its children that have ended. */
const TICK_MS = 10;

/** What has been used since the start of the stack, by what it is. */
type Used = Record<string, number>;

/** Processor time of parts, with their children that have ended, in ms. */
function cpuOf(parts: Part[]): number {
  const ticks = parts
    .flatMap((part) => part.pids())
    .flatMap((pid) => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ').slice(11, 15));
  return TICK_MS * ticks.reduce((sum, count) => sum + Number(count), 0);
}

async function readUsed({ hosts, pair, db }: ClusterStack): Promise<Used> {
  // WAL of a statement is without commits and what runs in the background.
  const { rows } = await db.query<{ name: string; calls: number; wal: number; allWal: number }>(
    `select datname as name, coalesce(sum(calls), 0)::float8 as calls, coalesce(sum(wal_bytes), 0)::float8 / 1000 as wal,
       pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 / 1000 as "allWal"
     from pg_database d left join pg_stat_statements s on d.oid = s.dbid where datname = any($1) group by 1 order by 1`,
    [DATABASES],
  );
  return {
    'API, ms': cpuOf(hosts.map(({ api }) => api)),
    'worker, ms': cpuOf(hosts.map(({ worker }) => worker)),
    'Temporal, ms': cpuOf(hosts.map(({ temporal }) => temporal)),
    'Postgres, ms': cpuOf([pair.primary]),
    'proxies, ms': cpuOf(hosts.flatMap(({ proxy, temporalProxy }) => [proxy, temporalProxy])),
    ...Object.fromEntries(rows.map(({ name, calls }) => [`statements, ${name}`, calls])),
    ...Object.fromEntries(rows.map(({ name, wal }) => [`WAL, ${name}, kB`, wal])),
    'WAL, all of it, kB': rows[0]!.allWal,
  };
}

/** What is used while `work` runs, and for how long, in ms. */
async function usedBy(stack: ClusterStack, work: () => Promise<unknown>): Promise<{ used: Used; ms: number }> {
  const before = await readUsed(stack);
  const startedAt = performance.now();
  await work();
  const ms = performance.now() - startedAt;
  const used = Object.entries(await readUsed(stack)).map(([what, after]) => [what, after - before[what]!] as const);
  return { used: Object.fromEntries(used), ms };
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
    const busy = await usedBy(stack, async () => (perSecond = await whole(stack, shopper, shop, ORDERS)));
    await delay(SETTLE_MS);
    const rest = await usedBy(stack, () => delay(REST_MS));
    const setup = `${shards} shards, ${count} host${count > 1 ? 's' : ''}`;
    rows.push([setup, 'whole orders a second', perSecond.toFixed(1), '']);
    for (const [what, used] of Object.entries(busy.used)) {
      const atRest = rest.used[what]! / rest.ms;
      const forAnOrder = (used - atRest * busy.ms) / ORDERS;
      rows.push([setup, what, forAnOrder.toFixed(1), (1000 * atRest).toFixed(1)]);
    }
  }
  const problems = [
    ...ledger.complaints,
    ...(acknowledged(ledger).length < ledger.orders.length ? ['an order is missing'] : []),
  ];
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return markdownTable(['setup', 'what', 'for an order', 'at rest, for a second'], rows);
}
