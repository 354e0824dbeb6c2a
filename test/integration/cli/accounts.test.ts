import { writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { findCaller } from '../../../src/db/sellers';
import { useFolder } from '../../support/folder';
import { type CliRun, expectError, runCli } from '../../support/cli';
import { useDatabase } from '../../support/database';

const PNG = Buffer.from('89504e470d0a1a0a0000000d', 'hex');
const PRICING = {
  representative_interest: 9.9,
  promotions: [{ name: 'Spring', interest_free_days: 90, valid_until: '2027-05-31' }],
};

const database = useDatabase();
const folder = useFolder();

const cli = (...args: string[]): Promise<CliRun> => runCli(args, { DATABASE_URL: database.url });

function file(name: string, content: string | Buffer): string {
  const full = path.join(folder, name);
  writeFileSync(full, content);
  return full;
}

/** Runs a command that succeeds and returns its JSON output. */
async function json(...args: string[]): Promise<any> {
  const run = await cli(...args, '--json');
  expect(run).toMatchObject({ stderr: '', code: 0 });
  return run.json();
}

const newSeller = (...args: string[]) =>
  json('seller', 'create', '--name', 'My Shop', ...(args.includes('--sandbox') ? [] : ['--live']), ...args);

/** Every row of every table but the audit log, as text. */
async function dumpDatabase(): Promise<string> {
  const { rows: tables } = await database.db.query<{ name: string }>(
    `select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
       and relname <> 'operator_action'`,
  );
  const texts = tables.map(async ({ name }) => {
    const { rows } = await database.db.query<{ text: string }>(`select t::text as text from ${name} t`);
    return rows.map(({ text }) => text).join('\n');
  });
  return (await Promise.all(texts)).join('\n');
}

test('seller create shows a working key and a webhook secret only once, and does not store the key', async () => {
  const seller = await newSeller();
  expect(seller).toEqual({
    seller_id: expect.any(String),
    mode: 'live',
    key_id: expect.any(Number),
    api_key: expect.stringMatching(/^sk_[\w-]{43}$/),
    webhook_secret: expect.stringMatching(/^whsec_/),
  });
  expect(await findCaller(database.db, seller.api_key)).toMatchObject({
    seller: { id: seller.seller_id, name: 'My Shop' },
  });
  const stored = await dumpDatabase();
  expect(stored).toContain(seller.seller_id);
  expect(stored).not.toContain(seller.api_key.slice(9));
  expect((await cli('seller', 'show', seller.seller_id)).stdout).not.toMatch(/[sc]k_|whsec_/);
  expect((await cli('key', 'list', seller.seller_id)).stdout).not.toContain(seller.api_key.slice(0, 9));
});

test('commands print aligned text for people unless --json is given', async () => {
  const { code, stdout } = await cli('seller', 'create', '--name', 'My Shop', '--live');
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^seller_id: {6}\S{36}\nmode: {11}live\nkey_id: {9}\d+\napi_key: {8}sk_\S+\nwebhook_secret: whsec_\S+\n\nThe key and the secret are shown only once.\n$/,
  );
  const id = /\S{36}/.exec(stdout)![0];
  expect((await cli('seller', 'show', id)).stdout).toMatch(/^name: {13}My Shop$/m);
  expect((await cli('seller', 'list')).stdout).toMatch(/^seller_id +name +mode +created_at +disabled_at\n/);
  expect((await cli('checkout-key', 'list')).stdout).toBe('none\n');
});

test('seller create --sandbox makes a sandbox account, whose keys start with sk_test_', async () => {
  const { seller_id, api_key, mode } = await newSeller('--sandbox');
  expect([mode, api_key]).toEqual(['sandbox', expect.stringMatching(/^sk_test_[\w-]{43}$/)]);
  expect(await json('seller', 'show', seller_id)).toMatchObject({ mode: 'sandbox' });
  expect(await findCaller(database.db, api_key)).toMatchObject({ seller: { sandbox: true } });
  expect((await json('key', 'list', seller_id))[0].starts_with).toBe(api_key.slice(0, 13));
});

test('--json also works before the command', async () => {
  const run = await cli('--json', 'seller', 'list');
  expect(run.json()).toEqual(expect.any(Array));
});

test('seller create accepts every account setting', async () => {
  const { seller_id } = await newSeller(
    ...['--redirect-url', 'https://shop.example/thanks', '--pricing', JSON.stringify(PRICING)],
    ...['--cancel-url', 'https://shop.example/cart'],
    ...['--shop-url', 'https://shop.example/harrow/'],
    ...['--brand-colour', '#1A2B3C', '--logo', file('logo.png', PNG)],
    ...['--contact-email', 'help@shop.example', '--help-url', 'https://shop.example/help'],
    ...['--max-order-amount', '500.50', '--rate-limit', '600'],
    ...['--orders-per-day', '30000', '--bytes-per-day', '6000000000'],
  );
  expect(await json('seller', 'show', seller_id.toUpperCase())).toEqual({
    seller_id,
    name: 'My Shop',
    mode: 'live',
    redirect_url: 'https://shop.example/thanks',
    cancel_url: 'https://shop.example/cart',
    shop_url: 'https://shop.example/harrow/',
    pricing: PRICING,
    brand_colour: '#1a2b3c',
    logo: { type: 'image/png', size: PNG.length },
    contact_email: 'help@shop.example',
    help_url: 'https://shop.example/help',
    max_order_amount: 500.5,
    rate_limit: 600,
    orders_per_day: 30_000,
    bytes_per_day: 6_000_000_000,
    created_at: expect.any(String),
    disabled_at: null,
  });
  const { rows } = await database.db.query('select logo from branding where seller_id = $1', [seller_id]);
  expect(rows).toEqual([{ logo: PNG }]);
});

test('seller update changes the given settings, keeps the others, and removes those given as --no-…', async () => {
  const { seller_id } = await newSeller('--redirect-url', 'https://shop.example/', '--rate-limit', '60');
  const pricing = file('pricing.json', JSON.stringify(PRICING));
  const updated = await json('seller', 'update', seller_id, '--name', 'New Name', '--pricing', `@${pricing}`);
  expect(updated).toMatchObject({
    name: 'New Name',
    pricing: PRICING,
    redirect_url: 'https://shop.example/',
    rate_limit: 60,
  });
  await json('seller', 'update', seller_id, '--logo', file('logo', PNG), '--orders-per-day', '9');
  const removals = [
    'redirect-url',
    'cancel-url',
    'shop-url',
    'pricing',
    'brand-colour',
    'logo',
    'max-order-amount',
    'rate-limit',
    'orders-per-day',
    'bytes-per-day',
  ];
  expect(await json('seller', 'update', seller_id, ...removals.map((name) => `--no-${name}`))).toMatchObject({
    name: 'New Name',
    redirect_url: null,
    cancel_url: null,
    shop_url: null,
    pricing: { representative_interest: 0, promotions: [] },
    brand_colour: null,
    logo: null,
    max_order_amount: null,
    rate_limit: null,
    orders_per_day: null,
    bytes_per_day: null,
  });
});

test('invalid options are rejected with a message for each, and the database stays unchanged', async () => {
  const before = await dumpDatabase();
  const created = await cli(
    'seller',
    'create',
    '--live',
    '--name',
    ' x',
    '--brand-colour',
    'red',
    '--logo',
    '/nonexistent',
  );
  expectError(created, 2, /--logo cannot be read: ENOENT/);
  for (const mode of [[], ['--live', '--sandbox']])
    expectError(await cli('seller', 'create', '--name', 'x', ...mode), 2, /pass either --live or --sandbox/);
  const updated = await cli('seller', 'update', randomUUID(), '--brand-colour', 'red', '--rate-limit', '0');
  expectError(updated, 2, /--brand-colour must be a colour such as #1a2b3c; --rate-limit must be at least 1$/m);
  expectError(await cli('seller', 'update', randomUUID()), 2, /nothing to update/);
  expect(await dumpDatabase()).toBe(before);
});

test('a redirect URL must use https in production', async () => {
  const run = await runCli(['seller', 'create', '--live', '--name', 'x', '--redirect-url', 'http://shop.example'], {
    DATABASE_URL: database.url,
    NODE_ENV: 'production',
  });
  expectError(run, 2, /--redirect-url must use https/);
});

test('seller list finds accounts by a part of their name, in any case', async () => {
  const { seller_id } = await json('seller', 'create', '--live', '--name', 'Ærø 100% Bikes Ltd');
  for (const name of ['ÆRØ', '0% bikes']) {
    expect(await json('seller', 'list', name)).toEqual([expect.objectContaining({ seller_id })]);
  }
  expect((await cli('seller', 'list', 'Æ%s')).stdout).toBe('none\n');
});

test('seller disable and enable are idempotent, and the audit log finds them by the seller', async () => {
  const { seller_id, api_key } = await newSeller();
  const { disabled_at } = await json('seller', 'disable', seller_id);
  expect(disabled_at).toEqual(expect.any(String));
  expect(await json('seller', 'disable', seller_id)).toMatchObject({ disabled_at });
  expect(await json('seller', 'list')).toContainEqual(expect.objectContaining({ seller_id, disabled_at }));
  expect(await findCaller(database.db, api_key)).toBeUndefined();
  for (let times = 0; times < 2; times++) {
    expect(await json('seller', 'enable', seller_id)).toMatchObject({ disabled_at: null });
  }
  expect(await findCaller(database.db, api_key)).toBeDefined();
  const actions: { command: string }[] = await json('audit', '--about', seller_id);
  expect(actions.map(({ command }) => command)).toEqual([
    ...['seller enable', 'seller enable'],
    ...['seller disable', 'seller disable'],
  ]);
});

test("a seller's keys are created, listed with their first characters and labels, and revoked separately", async () => {
  const { seller_id, key_id, api_key } = await newSeller();
  const second = await json('key', 'create', seller_id, '--label', 'the new plugin');
  expect(second).toEqual({ seller_id, key_id: expect.any(Number), api_key: expect.stringMatching(/^sk_[\w-]{43}$/) });
  const listed = { created_at: expect.any(String), last_used_at: null, revoked_at: null };
  expect(await json('key', 'list', seller_id)).toEqual([
    { key_id, starts_with: api_key.slice(0, 8), label: null, ...listed },
    { key_id: second.key_id, starts_with: second.api_key.slice(0, 8), label: 'the new plugin', ...listed },
  ]);
  const revoked = await json('key', 'revoke', String(key_id));
  expect(revoked).toEqual({ key_id, revoked_at: expect.any(String) });
  expect(await json('key', 'revoke', String(key_id))).toEqual(revoked);
  expect(await findCaller(database.db, api_key)).toBeUndefined();
  expect(await findCaller(database.db, second.api_key)).toBeDefined();
  expect((await json('key', 'list', seller_id))[0]).toMatchObject(revoked);
});

test('checkout keys are created, listed and revoked, and a revoke command rejects keys of the other kind', async () => {
  const { key_id, api_key } = await newSeller();
  const created = await json('checkout-key', 'create', '--label', 'checkout');
  expect(created).toEqual({ key_id: expect.any(Number), checkout_key: expect.stringMatching(/^ck_[\w-]{43}$/) });
  expect(await findCaller(database.db, created.checkout_key)).toEqual({ kind: 'checkout' });
  const shown = expect.objectContaining({ key_id: created.key_id, starts_with: created.checkout_key.slice(0, 8) });
  expect(await json('checkout-key', 'list')).toEqual([shown]);
  expectError(await cli('key', 'revoke', String(created.key_id)), 1, /seller key \d+ does not exist$/m);
  expectError(await cli('checkout-key', 'revoke', String(key_id)), 1, /checkout key \d+ does not exist$/m);
  await json('checkout-key', 'revoke', String(created.key_id));
  expect(await findCaller(database.db, created.checkout_key)).toBeUndefined();
  expect(await findCaller(database.db, api_key)).toBeDefined();
});

const UNKNOWN = randomUUID();
test.each(['seller show', 'seller update --name x', 'key create', 'webhook-secret rotate'])(
  '`%s` reports that the seller does not exist',
  async (line) => {
    expectError(await cli(...line.split(' '), UNKNOWN), 1, new RegExp(`seller ${UNKNOWN} does not exist$`, 'm'));
  },
);
