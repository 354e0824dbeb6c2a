import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../../tools/package-root';

// npm and the compiler are slow on a busy machine.
jest.setTimeout(120_000);

/** The folder of a shop's project with only this package installed. */
let shop: string;
let installed: string;
beforeAll(() => {
  shop = mkdtempSync(path.join(tmpdir(), 'order-service-shop-'));
  const tarball = run(process.execPath, [path.join(PACKAGE_ROOT, 'tools/pack-client.mjs')], shop).trim();
  installed = run('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${tarball}`], shop);
});
afterAll(() => rmSync(shop, { recursive: true }));

const run = (command: string, args: string[], cwd: string): string =>
  execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

test('the client is one package without dependencies', () => {
  expect(installed).toMatch(/^added 1 package in/m);
  expect(readdirSync(path.join(shop, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
    'order-service',
  ]);
  const folder = path.join(shop, 'node_modules/order-service');
  const { dependencies, scripts } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as object & {
    dependencies?: unknown;
    scripts?: unknown;
  };
  expect([dependencies, scripts]).toEqual([undefined, undefined]);
});

test('a plain npm pack, which would include the server, fails and names the command to use', () => {
  const { status, stderr } = spawnSync('npm', ['pack', '--dry-run'], { cwd: PACKAGE_ROOT, encoding: 'utf8' });
  expect(status).not.toBe(0);
  expect(stderr).toContain('npm run pack-client');
});

const USE = `
const client = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'sk_1', sellerId: '1', maxRetries: 0 });
client.retrieve('1').catch((error) => console.log(error instanceof ConnectionError, typeof verifyWebhook));
`;

test.each([
  ['shop.mjs', `import { ConnectionError, createClient, verifyWebhook } from 'order-service/client';${USE}`],
  ['shop.cjs', `const { ConnectionError, createClient, verifyWebhook } = require('order-service/client');${USE}`],
])('%s uses the client without any other package', (file, source) => {
  writeFileSync(path.join(shop, file), source);
  expect(run(process.execPath, [file], shop)).toBe('true function\n');
});

test('a shop can import only the client', () => {
  writeFileSync(path.join(shop, 'inside.cjs'), `require('order-service/dist/src/client/transport.js')`);
  expect(() => run(process.execPath, ['inside.cjs'], shop)).toThrow(/ERR_PACKAGE_PATH_NOT_EXPORTED/);
});

const SET_UP = `import { createClient } from 'order-service/client';
const client = createClient({ baseUrl: 'https://orders.example', apiKey: 'sk_1', sellerId: '1' });
`;
const VALID = `
import { type OrderListQuery, type ProblemCode, OrderServiceError, createClient, verifyWebhook } from 'order-service/client';
const client = createClient({ baseUrl: 'https://orders.example', apiKey: 'sk_1', sellerId: '1' });
const query: OrderListQuery = { status: 'PENDING', created_from: '2027-01-31', limit: 100 };
export async function shop(): Promise<string> {
  const created = await client.create(
    { amount: 12.5, reference: 'INV-1', allowed_payment_terms: ['PAY_LATER'], webhook_url: null },
    { idempotencyKey: 'purchase-1' },
  );
  for await (const order of client.listAll(query)) console.log(order.created_at, order.cancelled_at?.length);
  const webhook = verifyWebhook('{}', new Headers(), ['whsec_1']);
  if (webhook.type === 'order.status_changed') console.log(webhook.data.sequence + 1);
  return created.order_url;
}
shop().catch((error: unknown) => {
  if (error instanceof OrderServiceError) {
    const code: ProblemCode | 'unexpected_response' = error.code;
    console.log(code, error.errors[0]?.pointer);
  }
});
`;
const INVALID: [code: string, error: string][] = [
  [`client.create({ amount: '12.50', reference: 'INV-1' })`, `'string' is not assignable to type 'number'`],
  [`client.create({ amount: 12.5, reference: 'INV-1', webhookUrl: '' })`, `'webhookUrl' does not exist`],
  [`client.list({ status: 'OPEN' })`, `"OPEN"' is not assignable`],
  [`client.retrieve('1').then((order) => order.total)`, `'total' does not exist`],
];

test('the types accept valid code and report the error in invalid code', () => {
  for (const name of ['zod', '@types']) {
    symlinkSync(path.join(PACKAGE_ROOT, 'node_modules', name), path.join(shop, 'node_modules', name));
  }
  const sources = [VALID, ...INVALID.map(([code]) => `${SET_UP}void ${code};\nexport {};`)];
  sources.forEach((source, index) => writeFileSync(path.join(shop, `${index}.ts`), source));
  const tsc = path.join(PACKAGE_ROOT, 'node_modules/typescript/bin/tsc');
  const options = ['--noEmit', '--strict', '--module', 'node20', '--target', 'es2022', '--types', 'node'];
  const { stdout } = spawnSync(process.execPath, [tsc, ...options, ...sources.map((_, index) => `${index}.ts`)], {
    cwd: shop,
    encoding: 'utf8',
  });
  const errors = stdout.split('\n').filter((line) => /^\S+: error/.test(line));
  expect(errors).toEqual(
    INVALID.map(([, error], index) => expect.stringMatching(`^${index + 1}\\.ts\\(3,\\d+\\): error .*${error}`)),
  );
});
