import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { migrate } from '../../src/db/migrations';
import { type Db, createPool } from '../../src/db/pool';
import { createCheckoutKey } from '../support/keys';
import { createTemporalClient } from '../../src/temporal/connection';
import { ensureNamespace } from '../../src/temporal/server';
import { freePort } from '../../tools/local-stack/ports';
import { constants } from '../support/constants';
import { QUICK } from '../support/stack';
import { type Cleanup, endWith } from './cleanup';
import { type Link, openLink } from './link';
import { type Part, watch, type WatchedPart } from './part';
import { type ReceiverPart, createReceiver } from './receiver';
import { type ServicePart, createServicePart } from './service-part';
import { RETRY_DELAYS_S } from './webhook-invariants';
import { type PostgresPart, type TemporalPart, createPostgresPart, createTemporalPart } from './store-parts';

const NAMESPACE = 'chaos';
/** Of the file system that a cell fills. */
const DISK_MB = 3000;

/** As `SETTINGS`. */
export const CHAOS_CONSTANTS = {
  webhookSchedule: { attemptsWithSuccessor: 100 },
  webhookTimeoutMs: 3000,
  webhookBreaker: { minWaitMs: 500, maxWaitMs: 2000 },
};

/** Retries every second for two minutes, so that no fault exhausts a webhook. */
export const SETTINGS = {
  ...QUICK,
  HOSTED_CHECKOUT: 'true',
  SANDBOX_REFERRAL_MS: '2000',
  UPDATE_TIMEOUT_MS: '5000',
  WEBHOOK_RETRY_DELAYS: RETRY_DELAYS_S.join(','),
  WEBHOOK_CONCURRENCY_PER_SELLER: '25',
  ...constants(CHAOS_CONSTANTS),
};

export const LINKS = [
  'API to Postgres',
  'worker to Temporal',
  'worker to Postgres',
  'API to Temporal',
  'worker to receiver',
] as const;
export type LinkName = (typeof LINKS)[number];

export interface ChaosStack {
  apis: [ServicePart & WatchedPart, ServicePart & WatchedPart];
  workers: [ServicePart & WatchedPart, ServicePart & WatchedPart];
  postgres: PostgresPart & WatchedPart;
  temporal: TemporalPart & WatchedPart;
  receiver: ReceiverPart & WatchedPart;
  /** Of each process in its order, except that both workers share the one to the receiver. */
  links: Record<LinkName, Link[]>;
  /** The base URL of each API process. */
  apiUrls: string[];
  checkoutKey: string;
  /** Connections of the harness, which bypass the links. */
  db: Db;
  client: Client;
  /** Settings for other processes, such as the CLI, without links. */
  env: () => Record<string, string>;
  /** The mounted file system that Postgres uses; undefined if this process may not mount one. */
  disk: string | undefined;
  /** The number of workflow runs by their events. Of those with the same events, only the first ones are replayed. */
  alike: Map<string, number>;
  /** Heals the links, starts what does not run, and restarts the processes with changed settings. */
  restore: () => Promise<void>;
}

/**
 * Starts two API and two worker processes, Temporal, Postgres and a receiver, with a link between each two of them.
 * @param cleanup ends all of it, also while it is being started
 * @param isDiskLimited false for runs with more data than the file system that a cell fills can hold
 */
export async function startChaosStack(cleanup: Cleanup, isDiskLimited = true): Promise<ChaosStack> {
  const folder = mkdtempSync(path.join(tmpdir(), 'order-service-chaos-'));
  cleanup.add(() => rmSync(folder, { recursive: true, force: true }));
  const disk = isDiskLimited ? mountDisk(path.join(folder, 'disk')) : undefined;
  if (disk !== undefined) cleanup.add(() => execFileSync('umount', ['--lazy', disk]));
  const ports = await Promise.all(Array.from({ length: 8 }, freePort));
  const postgres = endWith(cleanup, watch(createPostgresPart(disk ?? folder, ports[0]!)));
  const temporal = endWith(cleanup, watch(createTemporalPart(folder, ports[1]!)));
  const receiver = endWith(cleanup, watch(createReceiver(path.join(folder, 'receiver.log'), ports[2]!, ports[3]!)));
  await Promise.all([postgres.start(), temporal.start(), receiver.start()]);
  await migrate(postgres.url());
  // By their name, cells tell these connections from the service's.
  const db = createPool(`${postgres.url()}?application_name=chaos`, 8, () => undefined);
  cleanup.add(() => db.end());
  const client = createTemporalClient({
    connectionOptions: { address: temporal.address() },
    namespace: NAMESPACE,
  });
  cleanup.add(() => client.connection.close());
  await ensureNamespace(client);
  const toTemporal = (): Promise<Link> => openLink(temporal.address);
  const toPostgres = (): Promise<Link> => openLink(() => new URL(postgres.url()).host);
  const links: ChaosStack['links'] = {
    'API to Temporal': [await toTemporal(), await toTemporal()],
    'worker to Temporal': [await toTemporal(), await toTemporal()],
    'API to Postgres': [await toPostgres(), await toPostgres()],
    'worker to Postgres': [await toPostgres(), await toPostgres()],
    'worker to receiver': [await openLink(() => `127.0.0.1:${receiver.port}`)],
  };
  cleanup.add(() =>
    Object.values(links)
      .flat()
      .forEach((link) => link.close()),
  );
  const service = (from: 'API' | 'worker', number: number, port: number): ServicePart & WatchedPart => {
    const env = {
      ...SETTINGS,
      DATABASE_URL: through(links[`${from} to Postgres`][number - 1]!, postgres.url()),
      TEMPORAL_ADDRESS: links[`${from} to Temporal`][number - 1]!.address,
      TEMPORAL_NAMESPACE: NAMESPACE,
      [from === 'API' ? 'PORT' : 'WORKER_HEALTH_PORT']: String(port),
    };
    return endWith(cleanup, watch(createServicePart(`${from} ${number}`, from === 'API' ? 'server' : 'worker', env)));
  };
  const apis: ChaosStack['apis'] = [service('API', 1, ports[4]!), service('API', 2, ports[5]!)];
  const workers: ChaosStack['workers'] = [service('worker', 1, ports[6]!), service('worker', 2, ports[7]!)];
  const services = [...apis, ...workers];
  await Promise.all(services.map((part) => part.start()));
  return {
    apis,
    workers,
    postgres,
    temporal,
    receiver,
    links,
    apiUrls: [ports[4], ports[5]].map((port) => `http://127.0.0.1:${port}`),
    checkoutKey: await createCheckoutKey(db),
    db,
    client,
    env: () => ({
      ...SETTINGS,
      DATABASE_URL: postgres.url(),
      TEMPORAL_ADDRESS: temporal.address(),
      TEMPORAL_NAMESPACE: NAMESPACE,
    }),
    disk,
    alike: new Map(),
    async restore() {
      for (const link of Object.values(links).flat()) link.heal();
      receiver.setFailing(false);
      await startAll([postgres, temporal, receiver]);
      const changed = services.filter((part) => part.isRelaunched());
      for (const part of changed) part.relaunchWith({});
      await Promise.all(changed.map((part) => part.end('SIGTERM')));
      await startAll(services);
    },
  };
}

/** Every part. */
export const partsOf = ({ apis, workers, temporal, postgres, receiver }: ChaosStack): (Part & WatchedPart)[] => [
  ...apis,
  ...workers,
  temporal,
  postgres,
  receiver,
];

/** Starts the parts that do not run. */
export async function startAll(parts: readonly Part[]): Promise<void> {
  await Promise.all(parts.filter((part) => !part.isRunning()).map((part) => part.start()));
}

function through(link: Link, url: string): string {
  const changed = new URL(url);
  changed.host = link.address;
  return changed.href;
}

/** Mounts a file system of limited size in memory. */
function mountDisk(folder: string): string | undefined {
  mkdirSync(folder);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m,mode=0755`, 'tmpfs', folder], { stdio: 'ignore' });
    return folder;
  } catch {
    return undefined;
  }
}
