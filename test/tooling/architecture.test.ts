import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { PACKAGE_ROOT } from '../../src/package';

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
  const folders = ['src', 'workflows', 'activities', 'tools', 'packages/client/src'];
  const depcruise = 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs';
  const args = [depcruise, '--config', '.dependency-cruiser.mjs', '--output-type', 'json', ...folders];
  const options = { cwd: PACKAGE_ROOT, maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await promisify(execFile)(process.execPath, args, options);
  const { totalCruised, violations } = JSON.parse(stdout).summary;
  expect(violations).toEqual([]);
  expect(totalCruised).toBeGreaterThan(sourceFiles(...folders).length);
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
