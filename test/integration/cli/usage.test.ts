import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createProgram } from '../../../src/cli/program';
import { createServices } from '../../../src/cli/services';
import { freePort } from '../../../tools/local-stack/ports';
import { PACKAGE_ROOT } from '../../../tools/package-root';
import { expectError, runCli } from '../../support/cli';
import { createDatabase } from '../../support/database';

const ID = '6b0f2f6e-8c0e-4f7c-9f25-0d3a3f6f0a01';
const NOWHERE = 'postgres://orders:hunter2@127.0.0.1:1/orders';

const COMMANDS: Record<string, string[]> = {
  '': ['seller', 'key', 'checkout-key', 'order', 'webhooks', 'webhook-secret', 'reconcile'],
  seller: ['create', 'show', 'list', 'update', 'disable', 'enable', 'history'],
  key: ['create', 'list', 'revoke'],
  'checkout-key': ['create', 'list', 'revoke'],
  order: ['show', 'list', 'timeline', 'cancel'],
  webhooks: ['list', 'resend'],
  'webhook-secret': ['rotate'],
};
const LEAVES = Object.entries(COMMANDS)
  .filter(([group]) => group !== '')
  .flatMap(([group, names]) => names.map((name) => `${group} ${name}`));

describe('help', () => {
  test.each(Object.entries(COMMANDS))('of "%s" names its commands', async (group, names) => {
    const { code, stdout, stderr } = await runCli([...group.split(' ').filter(Boolean), '--help']);
    expect([code, stderr]).toEqual([0, '']);
    for (const name of names) expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
  });

  test.each([...LEAVES, 'reconcile'])('of "%s" says what it does, its options, and that it can print JSON', (leaf) => {
    let command = createProgram(createServices({}));
    for (const name of leaf.split(' ')) command = command.commands.find((it) => it.name() === name)!;
    const text = command.helpInformation();
    expect(text).toMatch(new RegExp(`^Usage: order-service ${leaf} \\[options\\]`));
    expect(command.description()).not.toBe('');
    for (const { flags, description } of command.options) expect([flags, description]).not.toContain('');
    expect(text).toContain('--json');
  });

  test('of the README names every command', () => {
    const readme = readFileSync(path.join(PACKAGE_ROOT, 'README.md'), 'utf8');
    const rows = readme.split('\n## The CLI\n')[1]!.split('\n\n- ')[0]!;
    for (const leaf of [...LEAVES, 'reconcile']) expect(rows).toMatch(new RegExp(`\`${leaf}[ \`]`));
  });

  test('of disable says what becomes of open orders', async () => {
    const { stdout } = await runCli(['seller', 'disable', '--help']);
    expect(stdout.replace(/\s+/g, ' ')).toContain('its open orders go on');
  });

  test("of update says what counts at once, and of a limit of its own that it comes beside the service's", async () => {
    const help = (await runCli(['seller', 'update', '--help'])).stdout.replace(/\s+/g, ' ');
    expect(help).toContain(
      'shop URL, colour, logo and rate limit at once, for open orders too; the rest for orders from now on',
    );
    expect(help).toContain("an order must also be within the service's own limit");
  });

  test.each(['', 'seller', 'order'])('is shown where "%s" lacks a command, which is wrong usage', async (group) => {
    const { code, stdout, stderr } = await runCli(group.split(' ').filter(Boolean));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Usage: order-service');
  });
});

test.each([
  ['selle', /unknown command 'selle' \(Did you mean seller\?\)/],
  ['seller list --jsn', /unknown option '--jsn'/],
  ['seller show', /missing required argument 'seller-id'/],
  [`seller show ${ID} ${ID}`, /too many arguments/],
  ['seller create', /required option '--name <name>'/],
  ['seller show 12', /'seller-id'. It must be a UUID/],
  ['key list not-an-id', /'seller-id'. It must be a UUID/],
  ['key revoke x', /'key-id'. It must be a whole number/],
  ['key revoke 0', /'key-id'. It must be a whole number/],
  ['key revoke sk_abcdefgh', /It must be the number of a key, not the key/],
  ['checkout-key revoke 1e3', /'key-id'. It must be a whole number/],
  ['order show 12', /'order-id'. It must be a UUID/],
  [`order cancel ${ID} --reason \u0007`, /'--reason <text>'.*printable/],
  ['order list --seller 12', /'--seller <seller-id>'.*It must be a UUID/],
  ['order list --status OPEN', /Allowed choices are CREATED, PENDING/],
  ['order list --limit 1001', /from 1 to 1000/],
  ['order list --until tomorrow', /It must be a time such as/],
  ['order timeline x', /'order-id'. It must be a UUID/],
  ['webhooks resend', /name webhooks by their ids, or by --state/],
  [`webhooks resend --seller ${ID}`, /name webhooks by their ids, or by --state/],
  [`webhooks resend ${ID} --state exhausted`, /not both/],
  ['webhooks resend nonsense', /'webhook-ids'. It must be a UUID/],
  ['webhooks list --state lost', /Allowed choices are pending, delivered, exhausted, disabled/],
  ['webhooks list --seller x', /It must be a UUID/],
  ['webhooks list --since yesterday', /It must be a time such as/],
  ['webhooks list --after x', /'--after <webhook-id>'.*It must be a UUID/],
  ['webhooks list --limit 0', /from 1 to 10000/],
  ['webhook-secret rotate', /missing required argument 'seller-id'/],
  [`webhook-secret rotate ${ID} --overlap-hours -1`, /from 0 to 168 hours/],
  ['reconcile --since yesterday', /It must be a time such as/],
  ['reconcile --since 2027-02-30', /It must be a time such as/],
])('%s: wrong usage is told in a line, and ends with 2', async (line, expected) => {
  expectError(await runCli(line.split(' '), { DATABASE_URL: NOWHERE }), 2, expected);
});

describe('what cannot be done is told in a line, and ends with 1:', () => {
  test('no database is named', async () => {
    expectError(await runCli(['seller', 'list']), 1, /: DATABASE_URL: is missing$/m);
  });

  test('a wrong setting, without its value', async () => {
    const run = await runCli(['seller', 'list'], {
      DATABASE_URL: 'mysql://orders:hunter2@db/find-orders',
      NODE_ENV: 'live',
    });
    expectError(run, 1, /NODE_ENV: .*; DATABASE_URL: must be a postgres:\/\/ URL/);
    expect(run.stderr).not.toMatch(/hunter2|live/);
  });

  test.each(['seller list', `key create ${ID}`, 'checkout-key create', 'order list', `order cancel ${ID}`])(
    '%s, while the database is down',
    async (line) => {
      const run = await runCli(line.split(' '), { DATABASE_URL: NOWHERE });
      expectError(run, 1, /the database cannot be used: connect ECONNREFUSED 127.0.0.1:1$/m);
    },
  );

  test('reconcile, while Temporal is down', async () => {
    const run = await runCli(['reconcile'], { DATABASE_URL: NOWHERE, TEMPORAL_ADDRESS: '127.0.0.1:1' });
    expectError(run, 1, /Temporal cannot be reached at 127.0.0.1:1/);
  });

  test('a database without the migrations', async () => {
    const database = await createDatabase();
    await database.db.query('drop table seller cascade');
    expectError(await runCli(['seller', 'list'], { DATABASE_URL: database.url }), 1, /lacks migrations/);
    await database.drop();
  });

  test('order show, which alone needs to know where the checkout is', async () => {
    expectError(await runCli(['order', 'show', ID], { DATABASE_URL: NOWHERE }), 1, /CHECKOUT_BASE_URL: is missing/);
  });
});

describe('where no database is named, that of npm start is taken', () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = mkdtempSync(path.join(tmpdir(), 'order-service-cli-'));
    const port = await freePort();
    writeFileSync(path.join(dataDir, 'demo.env'), `DATABASE_URL=postgres://127.0.0.1:${port}/orders\nNODE_ENV=wrong\n`);
  });
  afterEach(() => rmSync(dataDir, { recursive: true }));

  test('and the environment goes before it', async () => {
    const run = await runCli(['seller', 'list'], { DATA_DIR: dataDir, DATABASE_URL: '', NODE_ENV: 'test' });
    expectError(run, 1, /ECONNREFUSED .* \(the address is from .*demo.env: is npm start up\?\)$/m);
  });

  test('and not where one is named', async () => {
    const run = await runCli(['seller', 'list'], { DATA_DIR: dataDir, DATABASE_URL: NOWHERE });
    expectError(run, 1, /ECONNREFUSED 127.0.0.1:1$/m);
  });
});
