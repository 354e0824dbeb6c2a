import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import pg from 'pg';
import { migrate } from '../../src/db/migrations';
import { PACKAGE_ROOT } from '../../src/package';
import { type Child, startChild } from '../../tools/local-stack/child';
import { startPostgres } from '../../tools/local-stack/postgres';
import { osAccountFor, postgresPrograms } from '../../tools/local-stack/postgres-programs';
import { type Part, processTree } from '../chaos/part';
import { ADDRESSES, HARNESS, type Place, PRIMARY, movePrimary, on } from './network';
import { TEMPORAL_SERVER, TEMPORAL_SQL_TOOL } from './programs';

const START_LIMIT_MS = 60_000;
const TEMPORAL_PORT = 7233;
const DATABASES = { temporal: 'temporal', temporal_visibility: 'visibility' };

interface ServerSpec {
  name: string;
  place?: Place;
  command: string[];
  env?: Record<string, string>;
  stopSignal?: NodeJS.Signals;
  logFile: string;
  isReady: () => Promise<boolean>;
}

/** A server in a process of its own, on one of the machines or beside them. */
function serverPart({ name, place, command, env = {}, stopSignal = 'SIGTERM', logFile, isReady }: ServerSpec): Part {
  let child: Child | undefined;
  let running = false;
  return {
    name,
    isRunning: () => running,
    pids: () => (running ? processTree(child!.pid) : []),
    async start() {
      const variables = Object.entries(env).map(([key, value]) => `${key}=${value}`);
      const full = [...(place ? on(place) : []), 'env', ...variables, ...command];
      child = await startChild({ name, command: full, logFile, stopSignal });
      running = true;
      void child.exited.then(() => (running = false));
      const problem = await child.untilReady(START_LIMIT_MS, isReady);
      if (problem !== undefined) throw new Error(`${name} did not start: ${problem}\n${child.output()}`);
    },
    async end(signal) {
      if (!running) return;
      // Unlike `stop`, this waits for a proxy that drains for longer than 10 s.
      await child!.kill(signal === 'SIGTERM' ? stopSignal : signal);
      await child!.exited;
    },
  };
}

function answersOn(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 1000 });
    const done = (answers: boolean) => (): void => {
      socket.destroy();
      resolve(answers);
    };
    socket.on('connect', done(true)).on('error', done(false)).on('timeout', done(false));
  });
}

export interface PostgresPair {
  primary: Part;
  replica: Part;
  url: (database?: string) => string;
  /** What both have written to their logs. */
  readLog: () => string;
  /** Makes the replica the primary, once the primary has ended. */
  promote: () => Promise<void>;
}

/** Creates all databases, and starts the primary and a streaming replica. */
export async function startPostgresPair(folder: string, isSynchronous: boolean): Promise<PostgresPair> {
  const dirs = { postgres1: path.join(folder, 'postgres1'), postgres2: path.join(folder, 'postgres2') };
  const first = await startPostgres({ dataDir: dirs.postgres1, port: 5432, log: () => undefined, durable: false });
  const { password, port } = new URL(first.url);
  const target = ['--plugin', 'postgres12_pgx', '--ep', '127.0.0.1', '-p', port, '-u', 'postgres', '--pw', password];
  for (const [database, schema] of Object.entries(DATABASES)) {
    const tool = (...args: string[]): unknown =>
      execFileSync(TEMPORAL_SQL_TOOL, [...target, '--db', database, ...args], { stdio: 'pipe' });
    tool('create-database');
    tool('setup-schema', '-v', '0.0');
    tool('update-schema', '--schema-name', `postgresql/v12/${schema}`);
  }
  await migrate(first.url);
  await first.stop();
  appendFileSync(path.join(dirs.postgres1, 'pg_hba.conf'), `host all,replication all ${HARNESS}/24 scram-sha-256\n`);
  execFileSync('cp', ['-a', dirs.postgres1, dirs.postgres2]);
  writeFileSync(path.join(dirs.postgres2, 'standby.signal'), '');
  const { via } = osAccountFor(dirs.postgres1, postgresPrograms());
  const conninfo = `host=${PRIMARY} user=postgres password=${password}`;
  const part = (name: string, place: 'postgres1' | 'postgres2', settings: Record<string, string>): Part =>
    serverPart({
      ...{ name, place, stopSignal: 'SIGINT', logFile: `${dirs[place]}.log` },
      command: [
        ...via,
        path.join(postgresPrograms(), 'postgres'),
        ...['-D', dirs[place]],
        ...Object.entries({
          ...{ listen_addresses: '*', unix_socket_directories: '', max_connections: '400' },
          ...{ fsync: 'off', full_page_writes: 'off', shared_preload_libraries: 'pg_stat_statements' },
          ...settings,
        }).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
      ],
      isReady: () => answersOn(ADDRESSES[place], 5432),
    });
  const primary = part('Postgres primary', 'postgres1', isSynchronous ? { synchronous_standby_names: '*' } : {});
  const replica = part('Postgres replica', 'postgres2', { primary_conninfo: conninfo });
  movePrimary('postgres1');
  await primary.start();
  await replica.start();
  const url = (host: string, database = 'orders'): string => `postgres://postgres:${password}@${host}:5432/${database}`;
  return {
    primary,
    replica,
    url: (database) => url(PRIMARY, database),
    readLog: () =>
      Object.values(dirs)
        .map((dir) => readFileSync(`${dir}.log`, 'utf8'))
        .join(''),
    async promote() {
      const client = new pg.Client({ connectionString: url(ADDRESSES.postgres2) });
      await client.connect();
      await client.query('select pg_promote()').finally(() => client.end());
      movePrimary('postgres2', 'postgres1');
    },
  };
}

/** All four services of Temporal on one host, as deploy/temporal/cluster.yaml has them. @param shards another number of them */
export function temporalPart(folder: string, place: 'host1' | 'host2', { url }: PostgresPair, shards?: number): Part {
  const { username, password, host } = new URL(url());
  const shipped = path.join(PACKAGE_ROOT, 'deploy/temporal/cluster.yaml');
  const configuration = shards === undefined ? shipped : path.join(folder, 'cluster.yaml');
  if (shards !== undefined) {
    const changed = readFileSync(shipped, 'utf8').replace(/numHistoryShards: \d+/, `numHistoryShards: ${shards}`);
    writeFileSync(configuration, changed);
  }
  return serverPart({
    name: `Temporal on ${place}`,
    place,
    command: [TEMPORAL_SERVER, '--config-file', configuration, 'start'],
    env: {
      ...{ HOST_ADDRESS: ADDRESSES[place], POSTGRES_ADDRESS: host },
      ...{ POSTGRES_USER: username, POSTGRES_PASSWORD: password },
      DYNAMIC_CONFIG: path.join(PACKAGE_ROOT, 'deploy/temporal/dynamic-config.yaml'),
    },
    logFile: path.join(folder, `temporal-${place}.log`),
    isReady: () => answersOn(ADDRESSES[place], TEMPORAL_PORT),
  });
}

const PAIRS = { host1: 'host2', host2: 'host1' } as const;
const CERTIFICATES = '/etc/order-service/certificates/';
interface ProxySpec extends Pick<ServerSpec, 'name' | 'place' | 'env' | 'isReady'> {
  folder: string;
  configuration: string;
}

function haproxyPart({ folder, configuration, ...spec }: ProxySpec): Part {
  const file = path.join(folder, `${spec.name.replaceAll(' ', '-')}.cfg`);
  writeFileSync(file, configuration);
  return serverPart({
    ...spec,
    command: ['haproxy', '-db', '-f', file],
    stopSignal: 'SIGUSR1',
    logFile: `${file}.log`,
  });
}

/** The shipped proxy of a host. */
export function proxyPart(folder: string, place: 'host1' | 'host2'): Part {
  const certificates = path.join(folder, 'certificates/');
  mkdirSync(certificates, { recursive: true });
  const pem = path.join(certificates, 'order-service.pem');
  const key = path.join(folder, 'key.pem');
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  execFileSync('openssl', [...kind, '-subj', '/CN=x', '-keyout', key, '-out', pem], { stdio: 'ignore' });
  appendFileSync(pem, readFileSync(key));
  const shipped = readFileSync(path.join(PACKAGE_ROOT, 'deploy/hosts/haproxy.cfg'), 'utf8');
  return haproxyPart({
    ...{ name: `proxy of ${place}`, place, folder, env: { PEER_ADDRESS: ADDRESSES[PAIRS[place]] } },
    configuration: shipped.replace(CERTIFICATES, certificates),
    isReady: () => answersOn(ADDRESSES[place], 8404),
  });
}

const TCP = `defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  retries 3
  option redispatch 1
  default-server inter 1s fall 2 rise 1
`;

export const TEMPORAL_ADDRESS = '127.0.0.1:7230';

const toTemporal = (servers: [string, string][], options = ''): string => `
listen temporal
  bind ${TEMPORAL_ADDRESS}
${servers.map(([name, address], index) => `  server ${name} ${address}:${TEMPORAL_PORT} check on-marked-down shutdown-sessions${index > 0 ? options : ''}`).join('\n')}
`;

/** What the services of a host use: its own Temporal, and the other one's while that is down. */
export function temporalProxyPart(folder: string, place: 'host1' | 'host2'): Part {
  const servers: [string, string][] = [
    ['here', ADDRESSES[place]],
    ['peer', ADDRESSES[PAIRS[place]]],
  ];
  return haproxyPart({
    ...{ name: `proxy to Temporal of ${place}`, place, folder },
    configuration: TCP + toTemporal(servers, ' backup'),
    isReady: () => Promise.resolve(true),
  });
}

/** The load balancer in front of both hosts, as docs/operators/two-hosts.md demands it, and one in front of Temporal for the harness. */
export function loadBalancerPart(folder: string): Part {
  const { host1, host2 } = ADDRESSES;
  const hosts: [string, string][] = Object.entries({ host1, host2 });
  return haproxyPart({
    ...{ name: 'load balancer', folder },
    configuration: `${TCP}
listen public
  bind 127.0.0.1:443
  option httpchk GET /host
${hosts.map(([name, address]) => `  server ${name} ${address}:443 check port 8404 inter 2s`).join('\n')}
${toTemporal(hosts)}`,
    isReady: () => answersOn('127.0.0.1', 443),
  });
}

/** This build as another version, in a folder of its own. */
export function copyBuild(folder: string, version: string): string {
  const root = path.join(folder, `release-${version}`);
  cpSync(path.join(PACKAGE_ROOT, 'dist'), path.join(root, 'dist'), { recursive: true });
  const description = JSON.parse(readFileSync(path.join(PACKAGE_ROOT, 'package.json'), 'utf8')) as object;
  writeFileSync(path.join(root, 'package.json'), JSON.stringify({ ...description, version }));
  execFileSync('ln', ['-s', path.join(PACKAGE_ROOT, 'node_modules'), path.join(root, 'node_modules')]);
  return root;
}
