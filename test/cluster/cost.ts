import { setTimeout as delay } from 'node:timers/promises';
import { processorMs } from '../bench/counters';
import { closedLoop } from '../bench/load';
import { markdownTable } from '../bench/table';
import { createCaller } from '../chaos/caller';
import { createLedger } from '../chaos/ledger';
import type { Part } from '../chaos/part';
import { Shopper } from '../chaos/shopper';
import { createSeller } from '../support/stack';
import { until } from '../support/until';
import { type ClusterStack, partsOfHost } from './stack';

const CLIENTS = 8;
const WARM_UP_ORDERS = 60;
const ORDERS = 300;
const IDLE_MS = 20_000;

interface Reading {
  at: number;
  /** Processor time, in ms. */
  service: number;
  temporal: number;
  postgres: number;
  /** Of Temporal's two databases, and of the service's. */
  temporalStatements: number;
  temporalWal: number;
  ownStatements: number;
  ownWal: number;
  /** Of the whole server, with what is not counted for a statement. */
  wal: number;
}

/** What one whole order costs (create, three changes, three webhooks), and a second without orders. Prints tables. */
export async function printCost(stack: ClusterStack): Promise<void> {
  await stack.db.query('create extension if not exists pg_stat_statements');
  const rows: (string | number)[][] = [];
  const add = (what: string, { at, ...found }: Reading): void => {
    const { service, temporal, postgres, ...counts } = found;
    const { temporalStatements, temporalWal, ownStatements, ownWal, wal } = counts;
    const cpu = [service, temporal, postgres, service + temporal + postgres];
    rows.push([what, at, ...cpu, ownStatements, temporalStatements, ownWal / 1024, temporalWal / 1024, wal / 1024]);
  };
  for (const hosts of [2, 1]) {
    if (hosts === 1) await Promise.all(partsOfHost(stack.hosts[1]).map((part) => part.end('SIGKILL')));
    await makeOrders(stack, WARM_UP_ORDERS);
    const from = await read(stack);
    await makeOrders(stack, ORDERS);
    const to = await read(stack);
    add(`an order, ${hosts} hosts`, since(from, to, ORDERS));
    await delay(IDLE_MS);
    add(`a second without orders, ${hosts} hosts`, since(to, await read(stack), IDLE_MS / 1000));
  }
  const header = ['of', 'ms', 'service, ms', 'Temporal, ms', 'Postgres, ms', 'all, ms', 'statements', 'of Temporal'];
  console.log(markdownTable([...header, 'WAL, KiB', 'of Temporal', 'of the server'], rows));
}

const since = (from: Reading, to: Reading, count: number): Reading =>
  Object.fromEntries(
    Object.keys(from).map((key) => [key, (to[key as keyof Reading] - from[key as keyof Reading]) / count]),
  ) as unknown as Reading;

async function makeOrders({ db, apiUrls, checkoutKey, links }: ClusterStack, count: number): Promise<void> {
  const ledger = createLedger();
  const caller = createCaller(apiUrls, ledger);
  const shopper = new Shopper(caller, ledger, checkoutKey, false, false);
  const webhookUrl = `http://${links['worker to receiver'][0]!.address}/steady`;
  const shop = { ...(await createSeller(db, undefined, { sandbox: true })), webhookUrl, isHosted: false };
  await closedLoop(CLIENTS, count, async () => {
    const order = await shopper.create(shop, 100);
    for (const event of ['signup_started', 'approved', 'completed'] as const) await shopper.progress(order!, event);
  });
  await caller.close();
  if (ledger.complaints.length > 0) throw new Error(ledger.complaints[0]);
  const left =
    "select from webhook_event e join orders o on o.id = order_id where seller_id = $1 and state = 'pending'";
  await until(async () => (await db.query(left, [shop.id])).rowCount === 0, 'all webhooks are delivered');
}

async function read({ db, hosts, pair }: ClusterStack): Promise<Reading> {
  const cpu = (parts: Part[]): number =>
    parts.reduce((sum, part) => sum + (part.isRunning() ? processorMs(part.pids()[0]!) : 0), 0);
  const { rows } = await db.query<Omit<Reading, 'at' | 'service' | 'temporal' | 'postgres'>>(
    `select sum(calls) filter (where is_own)::float8 as "ownStatements", sum(wal_bytes) filter (where is_own)::float8 as "ownWal",
       sum(calls) filter (where not is_own)::float8 as "temporalStatements",
       sum(wal_bytes) filter (where not is_own)::float8 as "temporalWal",
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as wal
     from (select *, datname = 'orders' as is_own from pg_stat_statements s join pg_database d on d.oid = s.dbid) counts`,
  );
  return {
    at: performance.now(),
    service: cpu(hosts.flatMap(({ api, worker, proxy }) => [api, worker, proxy])),
    temporal: cpu(hosts.map(({ temporal }) => temporal)),
    postgres: cpu([pair.primary]),
    ...rows[0]!,
  };
}
