import path from 'node:path';
import { createPool } from '../../src/db/pool';
import { createTemporalClient } from '../../src/temporal/connection';
import { ensureNamespace } from '../../src/temporal/server';
import { createCheckoutKey } from '../support/keys';
import { until } from '../support/until';
import { type Cleanup, endWith } from '../chaos/cleanup';
import type { Link } from '../chaos/link';
import { type Part, type WatchedPart, watch } from '../chaos/part';
import { createReceiver } from '../chaos/receiver';
import { type ServicePart, createServicePart } from '../chaos/service-part';
import { type ChaosStack, SETTINGS } from '../chaos/stack';
import { HARNESS, on, openNetwork } from './network';
import {
  type PostgresPair,
  TEMPORAL_ADDRESS,
  loadBalancerPart,
  proxyPart,
  startPostgresPair,
  temporalPart,
  temporalProxyPart,
} from './servers';

const NAMESPACE = 'cluster';
const RECEIVER_PORTS = [9000, 9001] as const;

export interface Host {
  place: 'host1' | 'host2';
  api: ServicePart & WatchedPart;
  worker: ServicePart & WatchedPart;
  temporal: Part & WatchedPart;
  proxy: Part & WatchedPart;
  temporalProxy: Part & WatchedPart;
}

export interface ClusterStack extends ChaosStack {
  hosts: [Host, Host];
  pair: PostgresPair;
}

interface ClusterOptions {
  isSynchronous?: boolean;
  /** Default: as deploy/temporal/cluster.yaml has it. */
  shards?: number;
  /** Of API and worker, in addition to those of the chaos tool. */
  settings?: Record<string, string>;
}

/** The processes of a host, in the order in which they start. */
export const partsOfHost = ({ temporal, temporalProxy, api, worker, proxy }: Host): Part[] => [
  ...[temporal, temporalProxy, api, worker, proxy],
];

/** Starts two hosts with all they need, two Postgres servers, a load balancer and the receiver. */
export async function startClusterStack(
  cleanup: Cleanup,
  folder: string,
  { isSynchronous = false, shards, settings = {} }: ClusterOptions = {},
): Promise<ClusterStack> {
  openNetwork();
  const guard = <P extends Part>(part: P): P & WatchedPart => endWith(cleanup, watch(part));
  const pair = await startPostgresPair(folder, isSynchronous);
  for (const part of [pair.primary, pair.replica]) endWith(cleanup, part);
  const receiver = guard(createReceiver(path.join(folder, 'receiver.log'), ...RECEIVER_PORTS, HARNESS));
  const temporal = (place: Host['place']): Host['temporal'] => guard(temporalPart(folder, place, pair, shards));
  const temporals = [temporal('host1'), temporal('host2')] as const;
  const loadBalancer = guard(loadBalancerPart(folder));
  // On an empty database, one of two Temporal hosts that start at once gives up.
  for (const part of [receiver, ...temporals, loadBalancer]) await part.start();

  const db = createPool(`${pair.url()}?application_name=cluster`, 8, () => undefined);
  cleanup.add(() => db.end());
  const connectionOptions = { address: TEMPORAL_ADDRESS };
  const client = createTemporalClient({ connectionOptions, namespace: NAMESPACE });
  cleanup.add(() => client.connection.close());
  await until(
    () =>
      ensureNamespace(client).then(
        () => true,
        () => false,
      ),
    'Temporal creates a namespace',
    60_000,
  );

  const env = {
    ...SETTINGS,
    ...settings,
    DATABASE_URL: pair.url(),
    TEMPORAL_ADDRESS,
    TEMPORAL_NAMESPACE: NAMESPACE,
  };
  const host = (place: Host['place'], temporal: Host['temporal']): Host => {
    const service = (entry: 'server' | 'worker'): Host['api'] => {
      // As in the units of deploy/hosts/systemd.
      const own = {
        HOST: '::',
        PORT: '3000',
        WORKER_HEALTH_PORT: '3001',
        TRUSTED_PROXIES: '1',
        SHUTDOWN_DELAY_MS: '5000',
      };
      const name = `${entry === 'server' ? 'API' : 'worker'} of ${place}`;
      return guard(createServicePart(name, entry, { ...env, ...own }, on(place)));
    };
    return {
      place,
      temporal,
      api: service('server'),
      worker: service('worker'),
      proxy: guard(proxyPart(folder, place)),
      temporalProxy: guard(temporalProxyPart(folder, place)),
    };
  };
  const hosts: ClusterStack['hosts'] = [host('host1', temporals[0]), host('host2', temporals[1])];
  await Promise.all(
    hosts.flatMap(({ temporalProxy, proxy, api, worker }) =>
      [temporalProxy, proxy, api, worker].map((part) => part.start()),
    ),
  );
  await until(() => isServed(), 'the load balancer finds a host', 60_000);

  const isRunning = (parts: Part[]) => () => parts.every((part) => part.isRunning());
  const none = (): never => {
    throw new Error('the cells of the cluster do not use it');
  };
  /** A part that stands for several: `runCell` asks it only whether all of them run. */
  const group = (name: string, parts: Part[]): Part & WatchedPart => ({
    ...{ name, isRunning: isRunning(parts), pids: () => parts.flatMap((part) => part.pids()) },
    ...{ start: none, end: none, expectEnd: none, isFaulty: () => !isRunning(parts)() },
  });
  return {
    ...{ hosts, pair, receiver, db, client, env: () => env, restore: none, disk: undefined, alike: new Map() },
    apis: [hosts[0].api, hosts[1].api],
    workers: [hosts[0].worker, hosts[1].worker],
    temporal: {
      ...group('Temporal or a proxy', [
        ...temporals,
        ...hosts.flatMap(({ proxy, temporalProxy }) => [proxy, temporalProxy]),
        loadBalancer,
      ]),
      dataDir: folder,
      address: () => TEMPORAL_ADDRESS,
    },
    postgres: { ...group('Postgres', [pair.replica]), dataDir: folder, url: pair.url, readLog: pair.readLog },
    links: { 'worker to receiver': [{ address: `${HARNESS}:${RECEIVER_PORTS[0]}` } as Link] } as ChaosStack['links'],
    apiUrls: ['https://127.0.0.1'],
    checkoutKey: await createCheckoutKey(db),
  };
}

/** True if a host serves requests through the load balancer. */
async function isServed(): Promise<boolean> {
  const response = await fetch('https://127.0.0.1/openapi.json').catch(() => undefined);
  return response?.status === 200;
}
