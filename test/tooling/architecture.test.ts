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
    // `sandbox_mail` belongs to neither, but to src/mail/.
    .filter((name) => ![...checkoutTables, 'sandbox_mail'].includes(name));
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

test('only entry points, tools, and what keeps the variables of other programs out read the environment', () => {
  const readers = sourceFiles('src', 'workflows', 'activities').filter((file) => read(file).includes('process.env'));
  const allowed =
    /^src\/(cli|codec-server|migrate|server|worker|telemetry\/tracing|db\/pool|temporal\/connection)\.ts$/;
  expect(readers.filter((file) => !allowed.test(file))).toEqual([]);
});

describe('the import rules', () => {
  /** The files that the cases below import. */
  const TARGETS = [
    ...['src/db/target.ts', 'src/orders/target.ts', 'activities/target.ts'],
    ...['tools/target.ts', 'packages/client/src/target.ts'],
  ];

  const REFUSED: [rule: string, file: string, text: string][] = [
    ['layer:domain', 'src/domain/a.ts', "import '../db/target'"],
    ['layer:checkout', 'src/checkout/b.ts', "import type { T } from '../orders/target'"],
    ['types-only:workflows', 'workflows/c.ts', "import { x } from '../activities/target'"],
    ['package:pg', 'src/orders/b.ts', "import type { Pool } from 'pg'"],
    ['workflow-values', 'workflows/messages.ts', "import { z } from 'zod'"],
  ];

  const CYCLE: [file: string, text: string][] = [
    ['src/orders/cycle-a.ts', "import { x } from './cycle-b'"],
    ['src/orders/cycle-b.ts', "import type { x } from './cycle-c'"],
    ['src/orders/cycle-c.ts', "export { x } from './cycle-a'"],
  ];

  let root: string;
  let violations: Violation[];

  beforeAll(async () => {
    root = mkdtempSync(path.join(tmpdir(), 'order-service-imports-'));
    const write = (file: string, text: string): void => {
      mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
      writeFileSync(path.join(root, file), `${text}\nexport const x = 1; export type T = string;\n`);
    };
    // Every folder that is checked must exist.
    for (const file of [...TARGETS, 'tools/a.ts', 'packages/client/src/a.ts']) write(file, '');
    for (const [, file, text] of REFUSED) write(file, text);
    for (const [file, text] of CYCLE) write(file, text);
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
});
