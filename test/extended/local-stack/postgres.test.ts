import { cpSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { freePort } from '../../../tools/local-stack/ports';
import { startPostgres, type Postgres } from '../../../tools/local-stack/postgres';
import { postgresPrograms } from '../../../tools/local-stack/postgres-programs';
import { startTestServer } from '../../support/listening-server';

let home: string;
let dataDir: string;
let port: number;
let running: Postgres | undefined;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'orders-postgres-'));
  dataDir = join(home, 'postgres');
  port = await freePort();
});

afterEach(async () => {
  await running?.stop();
  running = undefined;
  rmSync(home, { recursive: true, force: true });
});

const start = async (durable = false) =>
  (running = await startPostgres({ dataDir, port, durable, log: () => undefined }));

async function query(sql: string): Promise<any[]> {
  const client = new Client({ connectionString: running!.url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

test('a new cluster has a UTF-8 database "orders", listens only on 127.0.0.1 and requires a password', async () => {
  const { url } = await start();
  expect(
    await query(
      'select current_database() as name, pg_encoding_to_char(encoding) as encoding from pg_database where datname = current_database()',
    ),
  ).toEqual([{ name: 'orders', encoding: 'UTF8' }]);
  expect(
    await query(
      "select name, setting from pg_settings where name in ('listen_addresses', 'max_connections', 'fsync') order by name",
    ),
  ).toEqual([
    { name: 'fsync', setting: 'off' },
    { name: 'listen_addresses', setting: '127.0.0.1' },
    { name: 'max_connections', setting: '200' },
  ]);
  const stranger = new Client({ connectionString: url.replace(/:[0-9a-f]{48}@/, ':guess@') });
  await expect(stranger.connect()).rejects.toThrow('password authentication failed');
});

test('a durable Postgres flushes to disk, and its data survive a stop and a start', async () => {
  await start(true);
  await query("create table kept as select 'Zoë £' as name");
  await running!.stop();
  await start(true);
  expect(await query('select name from kept')).toEqual([{ name: 'Zoë £' }]);
  expect(await query('show fsync')).toEqual([{ fsync: 'on' }]);
  expect(await query('show synchronous_commit')).toEqual([{ synchronous_commit: 'on' }]);
});

test('a start ends the Postgres of a killed run and uses its data and its port', async () => {
  const { exited, url } = await start();
  await query('create table kept as select 1 as n');
  expect((await start()).url).toBe(url);
  expect(await exited).toBe('ended with code 0');
  expect(await query('select n from kept')).toEqual([{ n: 1 }]);
});

// CI runs as root, and fails here if it does not.
const asRoot = process.getuid?.() === 0 || process.env.CI ? test : test.skip;

asRoot('root runs Postgres below a folder that only root can enter', async () => {
  // As in a clone in root's home: the programs, which Postgres' user must be able to run, are there too.
  expect([process.getuid?.(), statSync(home)]).toEqual([0, expect.objectContaining({ uid: 0, mode: 0o40700 })]);
  cpSync(join(postgresPrograms(), '..'), join(home, 'native'), { recursive: true, verbatimSymlinks: true });
  running = await startPostgres({ dataDir, port, log: () => undefined, programs: join(home, 'native/bin') });
  expect(await query('select 1 as n')).toEqual([{ n: 1 }]);
});

test('Postgres starts on another port if the preferred one is in use', async () => {
  const holder = await startTestServer(() => undefined);
  port = holder.port;
  await start();
  await holder.close();
  expect(new URL(running!.url).port).not.toBe(String(port));
  expect(await query('select 1 as n')).toEqual([{ n: 1 }]);
});
