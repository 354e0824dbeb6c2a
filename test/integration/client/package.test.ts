import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../../tools/package-root';

// npm and the compiler take their time on a machine that is busy.
jest.setTimeout(120_000);

/** A shop's project, in which nothing but this package was installed. */
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

test('it is one package, and brings no other', () => {
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

test('npm pack by itself, which would bring what the server needs, says what to do instead', () => {
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

test("nothing but the client is a shop's to import", () => {
  writeFileSync(path.join(shop, 'inside.cjs'), `require('order-service/dist/src/client/transport.js')`);
  expect(() => run(process.execPath, ['inside.cjs'], shop)).toThrow(/ERR_PACKAGE_PATH_NOT_EXPORTED/);
});

const SET_UP = `import { createClient } from 'order-service/client';
const client = createClient({ baseUrl: 'https://orders.example', apiKey: 'sk_1', sellerId: '1' });
`;
const RIGHT = `
import type { OrderListQuery, ProblemCode } from 'order-service/client';
import { OrderServiceError, createClient, verifyWebhook } from 'order-service/client';
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
    const code: ProblemCode | 'unexpected_answer' = error.code;
    console.log(code, error.errors[0]?.pointer);
  }
});
`;
const WRONG: [use: string, complaint: string][] = [
  [`client.create({ amount: '12.50', reference: 'INV-1' })`, `'string' is not assignable to type 'number'`],
  [`client.create({ amount: 12.5, reference: 'INV-1', webhookUrl: '' })`, `'webhookUrl' does not exist`],
  [`client.list({ status: 'OPEN' })`, `"OPEN"' is not assignable`],
  [`client.retrieve('1').then((order) => order.total)`, `'total' does not exist`],
];

test('its types let right code pass, and tell what is wrong with wrong code', () => {
  for (const name of ['zod', '@types']) {
    symlinkSync(path.join(PACKAGE_ROOT, 'node_modules', name), path.join(shop, 'node_modules', name));
  }
  const sources = [RIGHT, ...WRONG.map(([use]) => `${SET_UP}void ${use};\nexport {};`)];
  sources.forEach((source, index) => writeFileSync(path.join(shop, `${index}.ts`), source));
  const tsc = path.join(PACKAGE_ROOT, 'node_modules/typescript/bin/tsc');
  const options = ['--noEmit', '--strict', '--module', 'node20', '--target', 'es2022', '--types', 'node'];
  const { stdout } = spawnSync(process.execPath, [tsc, ...options, ...sources.map((_, index) => `${index}.ts`)], {
    cwd: shop,
    encoding: 'utf8',
  });
  const told = stdout.split('\n').filter((line) => /^\S+: error/.test(line));
  expect(told).toEqual(
    WRONG.map(([, complaint], index) => expect.stringMatching(`^${index + 1}\\.ts\\(3,\\d+\\): error .*${complaint}`)),
  );
});
