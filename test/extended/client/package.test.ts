import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../../src/package';
import { useFolder } from '../../support/folder';
import { packClient } from '../../support/pack-client';

// npm and the compiler are slow on a busy machine.
jest.setTimeout(600_000);

/** The folder of a shop's project with only this package installed. */
const shop = useFolder();
let tarball: string;
let installed: string;
beforeAll(() => {
  tarball = packClient(shop);
  installed = run('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${tarball}`], shop);
});

const run = (command: string, args: string[], cwd: string): string =>
  execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const tool = (name: string): string => path.join(PACKAGE_ROOT, 'node_modules/.bin', name);
const packageFile = (file: string): string =>
  readFileSync(path.join(shop, 'node_modules/order-service-client', file), 'utf8');

test('the client is one package without dependencies, and installing it runs no script', () => {
  expect(installed).toMatch(/^added 1 package in/m);
  const packages = readdirSync(path.join(shop, 'node_modules')).filter((name) => !name.startsWith('.'));
  expect(packages).toEqual(['order-service-client']);
  const manifest = JSON.parse(packageFile('package.json')) as Record<string, unknown>;
  expect(Object.keys(manifest).filter((key) => /dependencies/i.test(key))).toEqual([]);
  expect(Object.keys(manifest.scripts as object)).toEqual(['prepack']);
});

test('the package contains only what the client runs, its types and its documentation', () => {
  const folder = path.join(shop, 'node_modules/order-service-client');
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = entries.map(({ parentPath, name }) => path.relative(folder, path.join(parentPath, name))).sort();
  const modules = [
    'bin',
    'client',
    'client-errors',
    'contract-types',
    'index',
    'listen',
    'transport',
    'verify-webhook',
  ];
  expect(files).toEqual(
    [
      ...['LICENSE', 'README.md', 'package.json'],
      ...modules.flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]),
    ].sort(),
  );
  const code = files.filter((file) => /\.(js|ts)$/.test(file)).map(packageFile);
  expect(code.filter((text) => /zod|sourceMappingURL/.test(text))).toEqual([]);
});

test('editors show the documentation and the known values of every field', () => {
  const types = packageFile('dist/contract-types.d.ts');
  expect(types).toContain('/** Amount in pounds (GBP), not pence');
  expect(types).toMatch(/\bactor: "seller" \| .* \| \(string & \{\}\);/);
  expect(types).not.toMatch(/^\s*\w+\??: (unknown|any)\b/m);
});

test.each([
  ['attw', []],
  ['publint', ['--strict']],
])('%s finds nothing wrong with the package', (name, args) => {
  const { status, stdout, stderr } = spawnSync(tool(name), [...args, tarball], { cwd: shop, encoding: 'utf8' });
  expect([status, stdout + stderr]).toEqual([0, expect.stringMatching(/No problems found|All good/)]);
});

const USE = `
const client = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'sk_1', sellerId: '1', maxRetries: 0 });
client.retrieve('1').catch((error) => console.log(error instanceof ConnectionError, typeof verifyWebhook));
`;

test.each([
  ['shop.mjs', `import { ConnectionError, createClient, verifyWebhook } from 'order-service-client';${USE}`],
  ['shop.cjs', `const { ConnectionError, createClient, verifyWebhook } = require('order-service-client');${USE}`],
])('%s uses the client without any other package', (file, source) => {
  writeFileSync(path.join(shop, file), source);
  expect(run(process.execPath, [file], shop)).toBe('true function\n');
});

test('a shop can import only the client', () => {
  writeFileSync(path.join(shop, 'inside.cjs'), `require('order-service-client/dist/transport.js')`);
  expect(() => run(process.execPath, ['inside.cjs'], shop)).toThrow(/ERR_PACKAGE_PATH_NOT_EXPORTED/);
});

const SET_UP = `import { createClient } from 'order-service-client';
const client = createClient({ baseUrl: 'https://orders.example', apiKey: 'sk_1', sellerId: '1' });
`;
const VALID = `
import { type OrderListQuery, type ProblemCode, OrderServiceError, createClient, verifyWebhook } from 'order-service-client';
const client = createClient({ baseUrl: 'https://orders.example', apiKey: 'sk_1', sellerId: '1' });
const query: OrderListQuery = { status: 'PENDING', created_from: '2027-01-31', limit: 100 };
export async function shop(): Promise<string> {
  const created = await client.create(
    { amount: 12.5, reference: 'INV-1', allowed_payment_terms: ['PAY_LATER'] as const, webhook_url: null, source: undefined },
    { idempotencyKey: 'purchase-1' },
  );
  for await (const order of client.listAll(query)) console.log(order.created_at, order.cancelled_at?.length);
  const webhook = verifyWebhook('{}', new Headers(), ['whsec_1']);
  if (webhook.type === 'order.status_changed') console.log(webhook.data.sequence + 1);
  const { data: entries } = await client.timeline(created.id);
  for (const entry of entries) {
    if (entry.type === 'change' && (entry.actor === 'seller' || entry.actor === 'actor of a later release')) {
      console.log(entry.channel === 'channel of a later release');
    }
  }
  return created.order_url;
}
shop().catch((error: unknown) => {
  if (error instanceof OrderServiceError) {
    const code: ProblemCode | 'unexpected_response' = error.code;
    console.log(code, error.errors[0]?.pointer);
    if (error.code === 'duplicate_reference' || error.code === 'code_of_a_later_release') console.log(error.orderId);
    console.log(error.errors[0]?.code === 'field_code_of_a_later_release');
  }
});
`;
const INVALID: [code: string, error: string][] = [
  [`client.create({ amount: '12.50', reference: 'INV-1' })`, `'string' is not assignable to type 'number'`],
  [`client.create({ amount: 12.5, reference: 'INV-1', webhookUrl: '' })`, `'webhookUrl' does not exist`],
  [
    `client.create({ amount: 12.5, reference: 'INV-1', allowed_payment_terms: ['PAY_LATR'] })`,
    `"PAY_LATR"' is not assignable`,
  ],
  [
    `client.create({ amount: 12.5, reference: 'INV-1', allowed_payment_terms: 'PAY_LATER' })`,
    `is not assignable to type`,
  ],
  [`client.list({ status: 'OPEN' })`, `"OPEN"' is not assignable`],
  [`client.retrieve('1').then((order) => order.total)`, `'total' does not exist`],
];

/**
 * The ways in which shops' compilers find packages. `node10` ignores `exports`. The last one also checks our own types.
 */
const COMPILERS: [moduleResolution: string, skipLibCheck: string, ...others: string[]][] = [
  ['node10', 'true', '--module', 'commonjs', '--ignoreDeprecations', '6.0'],
  ['node16', 'true', '--module', 'node16'],
  ['bundler', 'true', '--module', 'esnext'],
  ['bundler', 'false', '--module', 'esnext'],
];

test.each(COMPILERS)(
  'with moduleResolution %s and skipLibCheck %s, the types need neither zod nor @types/node, and report every typo',
  (resolution, skipLibCheck, ...others) => {
    const sources = [VALID, ...INVALID.map(([code]) => `${SET_UP}void ${code};\nexport {};`)];
    const names = sources.map((_, index) => `${index}.ts`);
    sources.forEach((source, index) => writeFileSync(path.join(shop, names[index]!), source));
    const { stdout } = spawnSync(
      tool('tsc'),
      [
        ...[
          '--noEmit',
          '--strict',
          '--exactOptionalPropertyTypes',
          '--target',
          'es2022',
          '--lib',
          'es2022,dom',
          '--skipLibCheck',
          skipLibCheck,
        ],
        ...['--moduleResolution', resolution, ...others, ...names],
      ],
      { cwd: shop, encoding: 'utf8' },
    );
    expect(stdout.split('\n').filter((line) => line.includes('error'))).toEqual(
      INVALID.map(([, error], index) => expect.stringMatching(`^${index + 1}\\.ts\\(3,\\d+\\): error .*${error}`)),
    );
  },
);
