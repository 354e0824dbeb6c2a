import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CommanderError } from 'commander';
import { createProgram } from '../../../src/cli/program';
import { createServices } from '../../../src/cli/services';
import { freePort } from '../../../tools/local-stack/ports';
import { PACKAGE_ROOT } from '../../../src/package';
import { expectError, runCli, spawnCli } from '../../support/cli';
import { useDatabase } from '../../support/database';

const ID = '6b0f2f6e-8c0e-4f7c-9f25-0d3a3f6f0a01';
const UNREACHABLE = 'postgres://orders:hunter2@127.0.0.1:1/orders';

/**
 * Parses a line in this process and returns what was printed, and the exit code that Commander asks for. Far quicker
 * than a process for each line; the tests with runCli show that the process prints the same and which code it uses.
 */
async function parse(line: string) {
  const print = (stream: NodeJS.WriteStream) => jest.spyOn(stream, 'write').mockReturnValue(true);
  const [stdout, stderr] = [print(process.stdout), print(process.stderr)];
  try {
    await createProgram(createServices({ DATABASE_URL: UNREACHABLE })).parseAsync(line.split(' ').filter(Boolean), {
      from: 'user',
    });
    throw new Error('Commander accepted the line');
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const printed = (spy: typeof stdout) => spy.mock.calls.map(([text]) => text).join('');
    return { code: error.exitCode, stdout: printed(stdout), stderr: printed(stderr) };
  } finally {
    stdout.mockRestore();
    stderr.mockRestore();
  }
}

describe('the command line documents itself', () => {
  test('"order --help" lists the commands about orders', async () => {
    const { code, stdout, stderr } = await parse('order --help');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^ {2}cancel /m);
  });

  test('order-service --version prints the version of package.json', async () => {
    const { version } = JSON.parse(readFileSync(path.join(PACKAGE_ROOT, 'package.json'), 'utf8')) as {
      version: string;
    };
    expect(await spawnCli(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  test('the command line without a command prints the help to standard error and exits with 2', async () => {
    const { code, stdout, stderr } = await spawnCli([]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Usage: order-service');
  });
});

test.each([
  ['seller show', /missing required argument 'seller-id'/],
  ['key list not-an-id', /'seller-id'. It must be a UUID/],
  ['key revoke x', /'key-id'. It must be a whole number/],
  ['key revoke sk_abcdefgh', /It must be the id of a key, not the key/],
  [`order cancel ${ID} --reason \u0007`, /'--reason <text>'.*printable/],
  ['order list --limit 1001', /from 1 to 1000/],
  ['order list --until tomorrow', /It must be a time such as/],
  ['webhooks resend nonsense', /'webhook-ids'. It must be a UUID/],
  ['webhooks list --state lost', /Allowed choices are pending, delivered, exhausted, disabled/],
  [`webhook-secret rotate ${ID} --overlap-hours -1`, /from 0 to 168 hours/],
  ['order list --since 0000-01-01', /It must have a year from 0001 to 9999/],
])('"%s" is wrong usage: it prints a one-line error', async (line, expected) => {
  expectError(await parse(line), 1, expected);
});

test.each([
  ['selle', /unknown command 'selle' \(Did you mean seller\?\)/],
  ['webhooks resend', /select webhooks by their ids, or by --state/],
  [`webhooks resend --seller ${ID}`, /select webhooks by their ids, or by --state/],
  ['webhooks resend --state exhausted --yes', /a filter requires --seller <seller-id> or --all-sellers/],
  [`webhooks resend ${ID} --state exhausted`, /not both/],
])('"%s" is wrong usage: it prints a one-line error and exits with 2', async (line, expected) => {
  expectError(await runCli(line.split(' '), { DATABASE_URL: UNREACHABLE }), 2, expected);
});

describe('a failing command prints a one-line error and exits with 1', () => {
  const database = useDatabase();

  test('if DATABASE_URL is not set', async () => {
    expectError(await runCli(['seller', 'list']), 1, /: DATABASE_URL is missing$/m);
  });

  test('if a setting is invalid, without showing its value', async () => {
    const run = await runCli(['seller', 'list'], {
      DATABASE_URL: 'mysql://orders:hunter2@db/find-orders',
      NODE_ENV: 'live',
    });
    expectError(run, 1, /NODE_ENV .*; DATABASE_URL must be a postgres:\/\/ URL/);
    expect(run.stderr).not.toMatch(/hunter2|live/);
  });

  test.each(['seller list', `order cancel ${ID}`])('if the database is down: "%s"', async (line) => {
    const run = await runCli(line.split(' '), { DATABASE_URL: UNREACHABLE });
    expectError(run, 1, /the database is unavailable: connect ECONNREFUSED 127.0.0.1:1$/m);
  });

  test('if the database lacks migrations', async () => {
    await database.db.query('delete from schema_migration');
    expectError(
      await runCli(['seller', 'list'], { DATABASE_URL: database.url }),
      1,
      /older than this build: run the migrations/,
    );
  });

  test('if CHECKOUT_BASE_URL is not set: "order show"', async () => {
    expectError(await runCli(['order', 'show', ID], { DATABASE_URL: UNREACHABLE }), 1, /CHECKOUT_BASE_URL is missing/);
  });
});

describe('if the reader of its output stops early', () => {
  const database = useDatabase();

  /** Runs a command after the reader of its output has ended. */
  function runUnread(line: string) {
    const cli = `'${process.execPath}' '${path.join(PACKAGE_ROOT, 'dist/src/cli.js')}'`;
    const { PATH } = process.env;
    return spawnSync('bash', ['--norc', '-c', `exec 3> >(true); wait $!; exec ${cli} ${line} >&3`], {
      env: { PATH, DATABASE_URL: database.url },
      encoding: 'utf8',
    });
  }

  test('a command that changes something fails with one line, also in the audit log', async () => {
    const { status, stderr } = runUnread('checkout-key create');
    const error = 'standard output was closed before the command ended: it may have done only a part of its work';
    expect([status, stderr]).toEqual([1, `error: ${error}\n`]);
    const { rows } = await database.db.query('select command, outcome, error from operator_action');
    expect(rows).toEqual([{ command: 'checkout-key create', outcome: 'failed', error }]);
  });

  test('a command that changes nothing succeeds', () => {
    const { status, stderr } = runUnread('checkout-key list');
    expect([status, stderr]).toEqual([0, '']);
  });
});

describe('the settings that npm start wrote', () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = mkdtempSync(path.join(tmpdir(), 'order-service-cli-'));
    const port = await freePort();
    writeFileSync(path.join(dataDir, 'demo.env'), `DATABASE_URL=postgres://127.0.0.1:${port}/orders\nNODE_ENV=wrong\n`);
  });
  afterEach(() => rmSync(dataDir, { recursive: true }));

  test('are used if the environment names no database, and override the environment', async () => {
    const env = { DATA_DIR: dataDir, DATABASE_URL: '', NODE_ENV: 'test', TEMPORAL_ADDRESS: 'temporal.example:7233' };
    const run = await runCli(['seller', 'list'], env);
    expect(run).toMatchObject({ code: 1, stdout: '' });
    expect(run.stderr).toMatch(/^using the service of npm start \(.*demo\.env\)\nerror: .*NODE_ENV .+\n$/);
  });

  test('are ignored if the environment names a database', async () => {
    const run = await runCli(['seller', 'list'], { DATA_DIR: dataDir, DATABASE_URL: UNREACHABLE });
    expectError(run, 1, /ECONNREFUSED 127.0.0.1:1$/m);
  });
});
