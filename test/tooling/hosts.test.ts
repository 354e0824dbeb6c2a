import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import tls from 'node:tls';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config';
import { PACKAGE_ROOT } from '../../src/package';
import { listSettings } from '../../tools/docs/settings-page';
import { freePort } from '../../tools/local-stack/ports';
import { installed } from '../support/installed';
import { type TestServer, startTestServer } from '../support/listening-server';
import { selfSigned } from '../support/self-signed';
import { until } from '../support/until';

/** The files of docs/operators/two-hosts.md. */
const read = (file: string): string => readFileSync(path.join(PACKAGE_ROOT, file), 'utf8');
const matches = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map((match) => match[1]!);
const programs = installed(['haproxy', 'promtool', 'systemd-analyze'], (name) => [
  name,
  name === 'haproxy' ? '-v' : '--version',
]);
const ifInstalled = (...names: string[]) => (names.every((name) => programs.includes(name)) ? test : test.skip);
const seconds = (value: string | undefined): number => Number(/^(\d+)s?$/.exec(value ?? '')?.[1]);
const sourceExists = (script: string | undefined): boolean =>
  existsSync(path.join(PACKAGE_ROOT, script!.replace(/^dist\/(.*)\.js$/, '$1.ts')));

const HOSTS = 'deploy/hosts';
const SYSTEMD = `${HOSTS}/systemd`;
const settings = listSettings().map(({ env }) => env);
const isKnown = (name: string): boolean =>
  [...settings, 'ORDERS_URL', 'ORDER_SERVICE_OPERATOR', 'NODE_OPTIONS', 'LD_PRELOAD'].includes(name) ||
  name.startsWith('TEMPORAL_');
const variablesOf = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]));
const serviceEnv = variablesOf(
  read(`${HOSTS}/service.env.example`)
    .replaceAll('<host>', 'db.example')
    .replaceAll(/<[^>]+>/g, 'x'),
);
const imageEnv = variablesOf(read('Dockerfile').replace(/^(?:ENV| {4}) ?(\w+=\S+).*$/gm, '$1'));
const defaults = loadConfig({ ...serviceEnv, SHUTDOWN_DELAY_MS: '5000' });
/** Time in s after which a process of the service has ended itself, as in src/entry-point.ts and src/worker.ts. */
const END_SECONDS = {
  'server.js': (defaults.shutdownDelayMs + defaults.shutdownGraceMs) / 1000 + 20,
  'worker.js': defaults.shutdownGraceMs / 1000 + 20 + 20,
};

test('service.env.example names only settings that exist, and is complete', () => {
  expect(Object.keys(serviceEnv).filter((name) => !isKnown(name))).toEqual([]);
  expect(defaults).toMatchObject({ production: true });
});

describe('compose.yml', () => {
  const { services } = parse(read(`${HOSTS}/compose.yml`), { merge: true }) as { services: Record<string, any> };
  const own = Object.entries(services).filter(([, { build }]) => build);

  test('has the application only: Postgres and Temporal are managed', () => {
    expect(Object.keys(services)).toEqual(['proxy', 'api', 'worker', 'migrate', 'cli']);
    const pinned = parse(read('docker-compose.yml'), { merge: true }) as { services: Record<string, any> };
    expect(services.proxy.image).toBe(pinned.services.proxy.image);
  });

  test.each(Object.entries(services))('restricts %s, and sends its log to the journal', (name, service) => {
    expect(service).toMatchObject({
      network_mode: 'host',
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      mem_limit: expect.any(String),
      pids_limit: expect.any(Number),
      logging: { driver: 'journald' },
    });
    expect(service.cap_add).toEqual(name === 'proxy' ? ['NET_BIND_SERVICE'] : undefined);
    expect([service.ports, service.privileged]).toEqual([undefined, undefined]);
  });

  test.each(own)('gives %s a valid configuration, and a command that exists', (_name, service) => {
    expect(service.env_file).toEqual([{ path: '/etc/order-service/service.env', required: true }]);
    const environment = Object.fromEntries(
      Object.entries(service.environment ?? {}).map(([name, value]) => [name, String(value)]),
    );
    expect(Object.keys(environment).filter((name) => !isKnown(name))).toEqual([]);
    expect(loadConfig({ ...imageEnv, ...serviceEnv, ...environment })).toMatchObject({ production: true, host: '::' });
    const [script] = [...(service.entrypoint ?? []), ...service.command].filter((word: string) => word.endsWith('.js'));
    expect(sourceExists(script)).toBe(true);
  });

  test('API and worker use different ports, because they share those of the host', () => {
    const of = (name: string) =>
      loadConfig({ ...imageEnv, ...serviceEnv, ...mapToStrings(services[name].environment) });
    const [api, worker] = [of('api'), of('worker')];
    expect(new Set([api.port, worker.workerHealthPort, portOf(api), portOf(worker)]).size).toBe(4);
    for (const [name, port] of [['api', api.port] as const, ['worker', worker.workerHealthPort] as const]) {
      expect(services[name].healthcheck.test.join(' ')).toContain(`:${port}/health/ready`);
    }
  });

  test('waits for each process until it has ended itself', () => {
    expect(seconds(services.api.stop_grace_period)).toBeGreaterThanOrEqual(Math.ceil(END_SECONDS['server.js']));
    expect(seconds(services.worker.stop_grace_period)).toBeGreaterThanOrEqual(END_SECONDS['worker.js']);
    expect(seconds(services.proxy.stop_grace_period)).toBeGreaterThan(proxyEndSeconds());
    expect(services.proxy.stop_signal).toBe('SIGUSR1');
  });
});

describe('the systemd units', () => {
  const files = readdirSync(path.join(PACKAGE_ROOT, SYSTEMD));
  const unit = (file: string): string => read(`${SYSTEMD}/${file}`);
  const valueOf = (file: string, key: string): string | undefined =>
    matches(unit(file), new RegExp(`^${key}=(.*)$`, 'gm'))[0];
  const environmentOf = (file: string): Record<string, string> =>
    variablesOf((valueOf(file, 'Environment') ?? '').replaceAll(' ', '\n'));
  const services = files.filter((file) => file.endsWith('.service'));
  const node = services.filter((file) => valueOf(file, 'ExecStart')?.startsWith('node '));
  const longRunning = ['order-service-api.service', 'order-service-worker.service', 'order-service-proxy.service'];

  ifInstalled('systemd-analyze')('are valid for systemd', () => {
    const paths = files.map((file) => path.join(PACKAGE_ROOT, SYSTEMD, file));
    const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...paths], { encoding: 'utf8' });
    // A program that this machine lacks is no fault of the unit.
    const faults = `${stdout}${stderr}`
      .split('\n')
      .filter((line) => line.includes('order-service') && !/is not executable|Failed to (locate|resolve)/.test(line));
    expect(faults).toEqual([]);
  });

  test('start what exists, with settings that exist', () => {
    expect(node).toEqual([
      'order-service-api.service',
      'order-service-migrate.service',
      'order-service-worker.service',
    ]);
    for (const file of node) {
      expect(sourceExists(valueOf(file, 'ExecStart')!.split(' ')[1])).toBe(true);
      expect(valueOf(file, 'EnvironmentFile')).toBe('/etc/order-service/service.env');
      expect(Object.keys(environmentOf(file)).filter((name) => !isKnown(name))).toEqual([]);
      expect(loadConfig({ ...serviceEnv, ...environmentOf(file) })).toMatchObject({ production: true });
    }
    const named = services.flatMap((file) => matches(unit(file), /\/opt\/order-service\/current\/(deploy\S+)/g));
    expect(named.length).toBeGreaterThan(1);
    expect(named.filter((file) => !existsSync(path.join(PACKAGE_ROOT, file)))).toEqual([]);
  });

  test('use the ports of Compose, so that firewall, proxy and Prometheus are the same', () => {
    const { services: composed } = parse(read(`${HOSTS}/compose.yml`), { merge: true });
    for (const name of ['api', 'worker']) {
      const environment = environmentOf(`order-service-${name}.service`);
      const here = loadConfig({ ...serviceEnv, ...environment });
      const there = loadConfig({ ...imageEnv, ...serviceEnv, ...mapToStrings(composed[name].environment) });
      expect([here.host, here.port, here.workerHealthPort, portOf(here), here.shutdownDelayMs]).toEqual(
        name === 'api'
          ? [there.host, there.port, here.workerHealthPort, portOf(there), there.shutdownDelayMs]
          : [there.host, here.port, there.workerHealthPort, portOf(there), here.shutdownDelayMs],
      );
    }
  });

  test.each(longRunning)('%s restarts for ever, and is stopped with the target', (file) => {
    expect(unit(file)).toMatch(/^Restart=always$/m);
    expect(unit(file)).toMatch(/^StartLimitIntervalSec=0$/m);
    expect(unit(file)).toMatch(/^PartOf=order-service\.target$/m);
    expect(valueOf('order-service.target', 'Wants')!.split(' ')).toContain(file);
  });

  test('wait for each process until it has ended itself, and stop the proxy first', () => {
    const stop = (name: string) => seconds(valueOf(`order-service-${name}.service`, 'TimeoutStopSec'));
    expect(stop('api')).toBeGreaterThanOrEqual(Math.ceil(END_SECONDS['server.js']));
    expect(stop('worker')).toBeGreaterThanOrEqual(END_SECONDS['worker.js']);
    expect(stop('proxy')).toBeGreaterThan(proxyEndSeconds());
    expect(valueOf('order-service-proxy.service', 'KillSignal')).toBe('SIGUSR1');
    expect(valueOf('order-service-proxy.service', 'After')!.split(' ')).toContain('order-service-api.service');
  });

  test('taking a host away waits for each process, so that a start that follows cannot keep an old one', () => {
    const [names] = matches(
      read('docs/operators/two-hosts.md'),
      /^\| take this host away \| `systemctl stop order-service\.target order-service-\{(.+?)\}`/gm,
    );
    expect(
      names!
        .split(',')
        .map((name) => `order-service-${name}.service`)
        .sort(),
    ).toEqual([...longRunning].sort());
  });

  test.each(services)('%s has no rights that it does not need', (file) => {
    for (const line of ['NoNewPrivileges=yes', 'ProtectSystem=strict', 'PrivateTmp=yes', 'PrivateDevices=yes']) {
      expect(unit(file)).toContain(`\n${line}\n`);
    }
    expect(valueOf(file, 'User')).toMatch(/^(order-service|haproxy)$/);
    expect(valueOf(file, 'CapabilityBoundingSet')).toBe(
      file === 'order-service-proxy.service' ? 'CAP_NET_BIND_SERVICE' : '',
    );
  });
});

test('the firewall opens the ports that the processes use, and no others', () => {
  const ports = matches(read(`${HOSTS}/nftables.conf`), /tcp dport \{? ?([\d, ]+)/g).flatMap((it) => it.split(','));
  const opened = new Set(ports.map(Number));
  const bound = matches(read(`${HOSTS}/haproxy.cfg`), /^ +bind :::(\d+)/gm).map(Number);
  const called = matches(read(`${HOSTS}/haproxy.cfg`), /^ +server peer "[^:]+:(\d+)"/gm).map(Number);
  // ssh and node_exporter.
  expect([...opened].sort()).toEqual([...new Set([...bound, ...called, 9464, 9465, 22, 9100])].sort());
  for (const port of opened) if (port !== 22) expect(read('docs/operators/two-hosts.md')).toContain(`${port}`);
});

describe('deploy/monitoring', () => {
  const rules = read('deploy/monitoring/host-alert-rules.yml');
  const config = parse(read('deploy/monitoring/prometheus.yml')) as { scrape_configs: { job_name: string }[] };

  test('every job that an alert names is scraped', () => {
    const jobs = config.scrape_configs.map(({ job_name: name }) => name);
    const named = matches(rules + read('deploy/monitoring/alert-rules.yml'), /job="([^"]+)"/g);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((job) => !jobs.includes(job))).toEqual([]);
  });

  test('every alert about hosts leads to a heading that exists', () => {
    const anchors = (page: string) =>
      matches(read(page), /^#+ (.+)$/gm).map((heading) =>
        heading
          .toLowerCase()
          .replaceAll(' ', '-')
          .replace(/[^\w-]/g, ''),
      );
    const runbooks = matches(rules, /^ +runbook_url: '{{ \$externalLabels.runbooks }}\/(.+)'$/gm);
    expect(runbooks.length).toBe(matches(rules, /- (alert): /g).length);
    expect(runbooks.filter((it) => !anchors(it.split('#')[0]!).includes(it.split('#')[1]!))).toEqual([]);
  });

  ifInstalled('promtool')('Prometheus accepts the configuration', () => {
    const file = path.join(PACKAGE_ROOT, 'deploy/monitoring/prometheus.yml');
    expect(spawnSync('promtool', ['check', 'config', file], { encoding: 'utf8' })).toMatchObject({ status: 0 });
  });
});

test('Compose starts Temporal with enough history shards for a cluster, and with metrics', () => {
  const { services } = parse(read('docker-compose.yml'), { merge: true }) as { services: Record<string, any> };
  expect(services.temporal.environment).toMatchObject({
    NUM_HISTORY_SHARDS: 512,
    PROMETHEUS_ENDPOINT: '0.0.0.0:8000',
  });
  expect(read('docs/operators/compose.md')).toContain('names: [temporal], type: A, port: 8000');
});

(programs.includes('haproxy') ? describe : describe.skip)('haproxy.cfg', () => {
  interface Api {
    isServing: boolean;
    requests: string[];
    server: TestServer;
  }
  let folder: string;
  let file: string;
  let proxy: ChildProcess;
  let ports: Record<'http' | 'https' | 'host', number>;
  let here: Api;
  let peer: Api;
  let certbot: TestServer;

  async function startApi(name: string): Promise<Api> {
    const api = { isServing: true, requests: [] as string[] };
    const server = await startTestServer((request, response) => {
      if (request.url === '/health/serving') return void response.writeHead(api.isServing ? 200 : 503).end();
      api.requests.push(String(request.headers['x-forwarded-for']));
      response.end(name);
    });
    return Object.assign(api, { server });
  }

  beforeEach(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'order-service-hosts-'));
    [here, peer] = [await startApi('here'), await startApi('peer')];
    certbot = await startTestServer((_request, response) => void response.end('challenge'));
    ports = { http: await freePort(), https: await freePort(), host: await freePort() };
    mkdirSync(path.join(folder, 'certificates'));
    const pem = path.join(folder, 'certificates/order-service.pem');
    const { cert, key } = selfSigned('x');
    writeFileSync(pem, cert + key);
    // The shipped file, with other ports and folders.
    const replaced: [string, string][] = [
      ['bind :::80 v4v6', `bind 127.0.0.1:${ports.http}`],
      ['bind :::443 v4v6', `bind 127.0.0.1:${ports.https}`],
      ['bind :::8404 v4v6', `bind 127.0.0.1:${ports.host}`],
      ['/etc/order-service/certificates/', `${folder}/certificates/`],
      ['here 127.0.0.1:3000', `here 127.0.0.1:${here.server.port}`],
      ['"${PEER_ADDRESS}:3000"', `"\${PEER_ADDRESS}:${peer.server.port}"`],
      // Nothing listens on the first.
      ['here 127.0.0.1:8402', `here 127.0.0.1:${await freePort()}`],
      ['"${PEER_ADDRESS}:8402"', `"\${PEER_ADDRESS}:${certbot.port}"`],
      ['grace 15s', 'grace 3s'],
    ];
    let config = read(`${HOSTS}/haproxy.cfg`);
    for (const [from, to] of replaced) {
      expect(config).toContain(from);
      config = config.replace(from, () => to);
    }
    file = path.join(folder, 'haproxy.cfg');
    writeFileSync(file, config);
    await startProxy();
  });

  async function startProxy(environment: Record<string, string> = {}): Promise<void> {
    // One process: a master starts itself anew in its first moments, in which a signal ends it.
    proxy = spawn('haproxy', ['-db', '-f', file], {
      env: { ...process.env, PEER_ADDRESS: '127.0.0.1', ...environment },
      stdio: 'ignore',
    });
    await until(async () => (await host()) === 200, 'the proxy serves');
  }
  async function stopProxy(): Promise<void> {
    if (proxy.exitCode !== null) return;
    proxy.kill('SIGTERM');
    await once(proxy, 'exit');
  }
  afterEach(async () => {
    await stopProxy();
    await Promise.all([here.server, peer.server, certbot].map((server) => server.close()));
    rmSync(folder, { recursive: true });
  });

  const host = async (): Promise<number> =>
    (await fetch(`http://127.0.0.1:${ports.host}/host`).catch(() => undefined))?.status ?? 0;
  /** A request on a connection of its own. */
  function get(url: string): Promise<{ status: number; body: string; location: string | undefined }> {
    return new Promise((resolve, reject) => {
      const { request } = url.startsWith('https:') ? https : http;
      request(url, { agent: false, rejectUnauthorized: false } as https.RequestOptions, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (text: string) => (body += text));
        response.on('end', () => resolve({ status: response.statusCode!, body, location: response.headers.location }));
      })
        .on('error', reject)
        .end();
    });
  }
  const call = () => get(`https://127.0.0.1:${ports.https}/orders`);

  test('ends TLS, uses the APIs of both hosts, and keeps health checks private', async () => {
    const bodies = new Set<string>();
    await until(async () => bodies.add((await call()).body).size === 2, 'both APIs have answered');
    expect([...bodies].sort()).toEqual(['here', 'peer']);
    expect(here.requests[0]).toBe('127.0.0.1');
    expect((await get(`https://127.0.0.1:${ports.https}/health/ready`)).status).toBe(404);
    expect(await get(`http://127.0.0.1:${ports.http}/orders?a=1`)).toMatchObject({
      status: 308,
      location: `https://127.0.0.1:${ports.http}/orders?a=1`,
    });
    const metrics = await get(`http://127.0.0.1:${ports.host}/metrics`);
    expect(metrics.body).toContain('haproxy_backend_active_servers{proxy="api"} 2');
  });

  test('behind a load balancer with the PROXY protocol, knows and limits the callers by their addresses', async () => {
    await stopProxy();
    const config = readFileSync(file, 'utf8');
    expect(config).toContain('sc0_conn_cur gt 400');
    writeFileSync(file, config.replace('sc0_conn_cur gt 400', 'sc0_conn_cur gt 2'));
    await startProxy({ PROXY_PROTOCOL: 'yes' });
    const open: net.Socket[] = [];
    /** Sends a request on a connection that stays open. Returns whether it is answered. */
    const isAnswered = async (address: string): Promise<boolean> => {
      const socket = net.connect(ports.https, '127.0.0.1');
      open.push(socket.on('error', () => undefined));
      socket.write(`PROXY TCP4 ${address} 192.0.2.1 1234 443\r\n`);
      const secure = tls.connect({ socket, rejectUnauthorized: false });
      secure.write('GET /orders HTTP/1.1\r\nHost: x\r\n\r\n');
      return new Promise((resolve) => {
        secure
          .once('data', () => resolve(true))
          .once('error', () => resolve(false))
          .once('close', () => resolve(false));
      });
    };
    try {
      for (const address of ['203.0.113.1', '203.0.113.1']) expect(await isAnswered(address)).toBe(true);
      expect(await isAnswered('203.0.113.1')).toBe(false);
      expect(await isAnswered('203.0.113.2')).toBe(true);
      expect([...new Set([...here.requests, ...peer.requests])].sort()).toEqual(['203.0.113.1', '203.0.113.2']);
      await expect(call()).rejects.toThrow();
    } finally {
      for (const socket of open) socket.destroy();
    }
  });

  test('passes a challenge of ACME to the host whose certbot waits for it', async () => {
    for (let i = 0; i < 4; i += 1) {
      const answer = await get(`http://127.0.0.1:${ports.http}/.well-known/acme-challenge/x`);
      expect([answer.status, answer.body]).toEqual([200, 'challenge']);
    }
  });

  test('an API that drains gets no more requests, and none fails; without any API, the host is not ready', async () => {
    peer.isServing = false;
    const answers: string[] = [];
    let before = -1;
    await until(async () => {
      answers.push(...(await Promise.all([call(), call(), call(), call()])).map(({ status }) => String(status)));
      const isUnused = peer.requests.length === before;
      before = peer.requests.length;
      return isUnused && answers.length > 40;
    }, 'the other API gets no request');
    expect(new Set(answers)).toEqual(new Set(['200']));
    expect(await host()).toBe(200);
    here.isServing = false;
    await until(async () => (await host()) === 503, 'the host is not ready');
  });

  test('after SIGUSR1, the host is not ready while it still serves, and ends without an error', async () => {
    const exit = once(proxy, 'exit');
    proxy.kill('SIGUSR1');
    await until(async () => (await host()) === 503, 'the load balancer is told');
    const whileStopping = await call();
    expect([whileStopping.status, proxy.exitCode]).toEqual([200, null]);
    expect((await exit)[0]).toBe(0);
  });
});

const mapToStrings = (environment: Record<string, unknown> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, String(value)]));

const portOf = ({ metricsAddress = '' }: { metricsAddress?: string | undefined }): string =>
  metricsAddress.split(':').at(-1)!;

function proxyEndSeconds(): number {
  const config = read(`${HOSTS}/haproxy.cfg`);
  return matches(config, /^ +(?:grace|hard-stop-after) (\d+)s$/gm).reduce((sum, it) => sum + Number(it), 0);
}
