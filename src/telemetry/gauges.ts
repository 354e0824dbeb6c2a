import type { Logger } from 'pino';
import { Gauge, collectDefaultMetrics } from 'prom-client';
import { findLargestAccounts } from '../db/account-usage';
import { type Backlog, countOrdersByStatus, findFailingSellers, readBacklog } from '../db/backlog';
import type { Db, HealthCheck } from '../db/pool';
import { VERSION } from '../package';
import { registry } from './metrics';

/** All scrapes within this time share one set of queries. */
const CACHE_MS = 10_000;

/** Numbers of waiting work and ages that all processes read from Postgres, and the gauges that show them. */
export interface BacklogGauges<Key extends string = string> {
  names: Record<Key, readonly [name: string, help: string]>;
  read: (db: Db) => Promise<Record<Key, number>>;
}

const NAMES: Record<keyof Backlog, [name: string, help: string]> = {
  ordersBehind: ['orders_behind', 'Orders of a restored backup that wait for reconcile.'],
  ordersWaiting: ['orders_waiting', 'Orders whose workflow has not been started yet.'],
  oldestOrderWaitingSeconds: ['oldest_order_waiting_seconds', 'Age of the oldest of these orders.'],
  webhooksPending: ['webhooks_pending', 'Webhooks in the state pending.'],
  oldestWebhookPendingSeconds: ['oldest_webhook_pending_seconds', 'Age of the oldest of these webhooks.'],
  webhooksExhausted: ['webhooks_exhausted', 'Webhooks of the last 7 days that are exhausted.'],
};

/** The parts of a process that its gauges read. */
export interface GaugeSources {
  db: Db;
  checkDatabase: HealthCheck['check'];
  /** Of other parts than the orders. */
  backlogs?: readonly BacklogGauges[];
  /** States why a scrape lacks what Postgres holds. */
  log?: Logger;
}

/** Adds the metrics that are read when they are scraped. Without Postgres, those that it holds are missing. */
export function addGauges({ db, checkDatabase, backlogs = [], log }: GaugeSources, cacheMs = CACHE_MS): void {
  collectDefaultMetrics({ register: registry });
  gauge('info', 'The running version.', ['version'], (it) => it.set({ version: VERSION }, 1));
  gauge('database_connections', 'Connections of the pool to Postgres.', ['state'], (it) => {
    it.set({ state: 'used' }, db.totalCount - db.idleCount);
    it.set({ state: 'idle' }, db.idleCount);
  });
  gauge('database_connections_max', 'Size of the pool.', [], (it) => it.set(db.options.max));
  gauge('database_waiting', 'Queries that wait for a connection.', [], (it) => it.set(db.waitingCount));
  const all: readonly BacklogGauges[] = [
    { names: NAMES, read: async () => ({ ...(await readBacklog(db)) }) },
    ...backlogs,
  ];
  const read = cached(cacheMs, () => readFromPostgres(db, all, log));
  gauge('postgres_up', '1 if orders can be read from Postgres, and Postgres accepts writes.', [], async (it) => {
    // Reads alone succeed on a standby.
    const [found, health] = await Promise.all([read(), checkDatabase()]);
    it.set(found && health === 'ok' ? 1 : 0);
  });
  gauge('orders', 'Orders by status: estimated from 50,000 orders on.', ['status'], async (it) => {
    for (const [status, count] of Object.entries((await read())?.orders ?? {})) it.set({ status }, count);
  });
  for (const unit of ['orders', 'bytes'] as const) {
    const help = `What the ten largest accounts have created today (UTC): ${unit}.`;
    gauge(`account_${unit}_today`, help, ['seller_id'], async (it) => {
      for (const { sellerId, ...used } of (await read())?.largest ?? []) it.set({ seller_id: sellerId }, used[unit]);
    });
  }
  const help = 'Exhausted webhooks of the last 7 days, of the ten sellers with the most.';
  gauge('seller_webhooks_exhausted', help, ['seller_id'], async (it) => {
    for (const { sellerId, exhausted } of (await read())?.failing ?? []) it.set({ seller_id: sellerId }, exhausted);
  });
  all.forEach(({ names }, index) => {
    for (const [key, [name, help]] of Object.entries(names)) {
      gauge(name, help, [], async (it) => {
        const value = (await read())?.backlogs[index]?.[key];
        if (value !== undefined) it.set(value);
      });
    }
  });
}

function gauge(name: string, help: string, labelNames: string[], read: (gauge: Gauge) => void | Promise<void>): void {
  new Gauge({
    name: `order_service_${name}`,
    help,
    labelNames,
    registers: [registry],
    async collect() {
      // `reset` alone sets a gauge without labels to 0, which would be a number.
      this.reset();
      if (labelNames.length === 0) this.remove();
      await read(this);
    },
  });
}

async function readFromPostgres(db: Db, all: readonly BacklogGauges[], log: Logger | undefined) {
  try {
    const backlogs = await Promise.all(all.map(({ read }) => read(db)));
    const [orders, largest] = [await countOrdersByStatus(db), await findLargestAccounts(db)];
    return { orders, largest, failing: await findFailingSellers(db), backlogs };
  } catch (error) {
    log?.warn({ err: error }, 'the metrics that Postgres holds could not be read');
    return undefined;
  }
}

function cached<T>(ms: number, read: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  let until = 0;
  return () => {
    if (!result || Date.now() >= until) {
      until = Date.now() + ms;
      result = read();
    }
    return result;
  };
}
