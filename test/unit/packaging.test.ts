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

  test('publishes ports only on this machine', () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports.length).toBeGreaterThan(0);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  test('pins the version of every image that it does not build', () => {
    const pulled = Object.values(services).filter(({ build }) => !build);
    expect(pulled.filter(({ image }) => !/:\d+/.test(image))).toEqual([]);
  });

  test('uses the Temporal version that the tests use', () => {
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

  test('depends only on services that it defines, and on health only if they have a health check', () => {
    for (const [name, { depends_on: needs = {} }] of Object.entries(services)) {
      for (const [needed, { condition }] of Object.entries(needs)) {
        expect([name, needed, Object.keys(services)]).toEqual([name, needed, expect.arrayContaining([needed])]);
        if (condition === 'service_healthy') expect(services[needed]?.healthcheck?.test).toBeDefined();
      }
    }
  });

  test('mounts only files and volumes that exist', () => {
    const sources = Object.values(services).flatMap((service) =>
      (service.volumes ?? []).map((it) => it.split(':')[0]!),
    );
    expect(sources.filter((source) => !(source in volumes) && !isFile(source))).toEqual([]);
  });

  test.each(own)('gives %s a valid configuration', (_name, service) => {
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
  test('is based on glibc and does not run as root', () => {
    const bases = matches(dockerfile, /^FROM (\S+)/gm);
    expect(bases.every((base) => base === '${NODE_IMAGE}')).toBe(true);
    expect(dockerfile).toMatch(/^ARG NODE_IMAGE=node:20-bookworm-slim$/m);
    expect(dockerfile).toMatch(/^USER node$/m);
  });

  test('is built only from files that exist and that .dockerignore admits, without tests and local tools', () => {
    const admitted = matches(read('.dockerignore'), /^!(\S+)$/gm);
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files]) => files!.split(' '));
    const ignored = copied.filter((file) => !admitted.some((it) => file === it || file.startsWith(`${it}/`)));
    expect(ignored).toEqual([]);
    expect(copied.filter((file) => !isFile(file))).toEqual([]);
    expect(copied.filter((file) => /^(test|tools)\b/.test(file))).toEqual(['tools/copy-assets.mjs']);
  });
});

describe('package-lock.json', () => {
  interface Locked {
    resolved?: string;
    integrity?: string;
    optionalDependencies?: Record<string, string>;
  }
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };

  test('names no registry, so that any mirror works, and has a digest for every package', () => {
    expect(Object.keys(packages).filter((name) => packages[name]!.resolved)).toEqual([]);
    expect(Object.keys(packages).filter((name) => name !== '' && !packages[name]!.integrity)).toEqual([]);
  });

  test('contains the packages of all platforms, which npm ci requires', () => {
    const missing = Object.entries(packages).flatMap(([name, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (optional) => !packages[`${name}/node_modules/${optional}`] && !packages[`node_modules/${optional}`],
      ),
    );
    expect(missing).toEqual([]);
  });

  test('package.json requires exact versions', () => {
    const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<
      string,
      Record<string, string>
    >;
    const versions = Object.entries({ ...dependencies, ...devDependencies });
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  });
});

test('migration numbers have no gaps', () => {
  const numbers = readdirSync(path.join(PACKAGE_ROOT, 'src/db/migrations'))
    .sort()
    .map((name) => Number(name.slice(0, 4)));
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
});
