import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config';
import { listSettings } from '../../tools/docs/configuration-page';
import { PACKAGE_ROOT } from '../../tools/package-root';

const read = (file: string): string => readFileSync(path.join(PACKAGE_ROOT, file), 'utf8');
const isFile = (file: string): boolean => existsSync(path.join(PACKAGE_ROOT, file));
const matches = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map((match) => match[1]!);

const dockerfile = read('Dockerfile');
const settings = listSettings().map(({ env }) => env);

describe('docker-compose.yml', () => {
  interface Service {
    image: string;
    build?: string;
    command?: string[];
    entrypoint?: string[];
    environment?: Record<string, string | number>;
    ports?: string[];
    healthcheck?: { test?: string[]; disable?: boolean };
    depends_on?: Record<string, { condition: string }>;
    volumes?: string[];
  }
  const { services, volumes } = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, Service>;
    volumes: Record<string, null>;
  };
  const own = Object.entries(services).filter(([, { build }]) => build);
  const imageEnvironment = Object.fromEntries(
    [...dockerfile.matchAll(/^(?:ENV| {4}) ?([A-Z_]+)=(\S+)/gm)].map(([, name, value]) => [name, value]),
  );

  test('opens ports on this machine only', () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports.length).toBeGreaterThan(0);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  test('pins every image that is not built here', () => {
    const pulled = Object.values(services).filter(({ build }) => !build);
    expect(pulled.filter(({ image }) => !/:\d+/.test(image))).toEqual([]);
  });

  test('has Temporal in the version that is tested here', () => {
    const [version] = matches(read('tools/temporal/server/go.mod'), /go\.temporal\.io\/server v(\S+)/g);
    const [uiVersion] = matches(read('tools/temporal/ui/go.mod'), /temporalio\/ui-server\/v2 v(\S+)/g);
    const images = Object.values(services).map(({ image }) => image);
    expect(images).toEqual(
      expect.arrayContaining([
        `temporalio/server:${version}`,
        `temporalio/admin-tools:${version}`,
        `temporalio/ui:${uiVersion}`,
      ]),
    );
  });

  test('waits for services that are there, and for health where it is checked', () => {
    for (const [name, { depends_on: needs = {} }] of Object.entries(services)) {
      for (const [needed, { condition }] of Object.entries(needs)) {
        expect([name, needed, Object.keys(services)]).toEqual([name, needed, expect.arrayContaining([needed])]);
        if (condition === 'service_healthy') expect(services[needed]?.healthcheck?.test).toBeDefined();
      }
    }
  });

  test('mounts what is there', () => {
    const sources = Object.values(services).flatMap((service) =>
      (service.volumes ?? []).map((it) => it.split(':')[0]!),
    );
    expect(sources.filter((source) => !(source in volumes) && !isFile(source))).toEqual([]);
  });

  test.each(own)('gives %s a configuration that it starts with', (_name, service) => {
    const { command = [], entrypoint = [], environment = {} } = service;
    const resolved = Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [name, String(value).replace(/\$\{\w+:-([^}]*)\}/g, '$1')]),
    );
    const known = (name: string): boolean => settings.includes(name) || name.startsWith('TEMPORAL_');
    expect(Object.keys(resolved).filter((name) => !known(name))).toEqual([]);
    expect(loadConfig({ ...imageEnvironment, ...resolved })).toMatchObject({ production: true, host: '0.0.0.0' });
    const [script] = [...entrypoint, ...command].filter((word) => word.endsWith('.js'));
    expect(script).toMatch(/^dist\//);
    expect(isFile(script!.replace(/^dist\/(.*)\.js$/, '$1.ts'))).toBe(true);
  });
});

describe('the image', () => {
  test('runs on glibc, and not as root', () => {
    const bases = matches(dockerfile, /^FROM (\S+)/gm);
    expect(bases.every((base) => base === '${NODE_IMAGE}')).toBe(true);
    expect(dockerfile).toMatch(/^ARG NODE_IMAGE=node:20-bookworm-slim$/m);
    expect(dockerfile).toMatch(/^USER node$/m);
  });

  test('is built from files that .dockerignore lets through', () => {
    const let_through = matches(read('.dockerignore'), /^!(\S+)$/gm);
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files]) => files!.split(' '));
    const stopped = copied.filter((file) => !let_through.some((it) => file === it || file.startsWith(`${it}/`)));
    expect(stopped).toEqual([]);
    expect(copied.filter((file) => !isFile(file))).toEqual([]);
  });
});

describe('package-lock.json', () => {
  interface Locked {
    resolved?: string;
    integrity?: string;
    optionalDependencies?: Record<string, string>;
  }
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };

  test('names no registry, so that any mirror will do, and what is to come from it', () => {
    expect(Object.keys(packages).filter((name) => packages[name]!.resolved)).toEqual([]);
    expect(Object.keys(packages).filter((name) => name !== '' && !packages[name]!.integrity)).toEqual([]);
  });

  test('holds the packages of all platforms: npm ci refuses one that does not', () => {
    const missing = Object.entries(packages).flatMap(([name, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (optional) => !packages[`${name}/node_modules/${optional}`] && !packages[`node_modules/${optional}`],
      ),
    );
    expect(missing).toEqual([]);
  });

  test('package.json asks for exact versions', () => {
    const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<
      string,
      Record<string, string>
    >;
    const versions = Object.entries({ ...dependencies, ...devDependencies });
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  });
});

test('the migrations are numbered without a gap', () => {
  const numbers = readdirSync(path.join(PACKAGE_ROOT, 'src/db/migrations'))
    .sort()
    .map((name) => Number(name.slice(0, 4)));
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
});
