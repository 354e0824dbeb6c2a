import { rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { migrate } from '../../../src/db/migrations';
import { spawnCli } from '../../support/cli';
import { holdTransaction, statementsWaiting } from '../../support/database';
import { until } from '../../support/until';
import { PRODUCT_MIGRATIONS, useEmptyDatabase, useMigrations } from './migrations';

const database = useEmptyDatabase();
const migrations = useMigrations();

async function applied(): Promise<string[]> {
  const { rows } = await database.db.query<{ name: string }>('select name from schema_migration order by name');
  return rows.map(({ name }) => name);
}

async function exists(relation: string): Promise<boolean> {
  const { rows } = await database.db.query<{ found: boolean }>('select to_regclass($1) is not null as found', [
    relation,
  ]);
  return rows[0]!.found;
}

test('migrate applies every migration of the product to an empty database, and nothing the second time', async () => {
  expect(await migrate(database.url)).toEqual(PRODUCT_MIGRATIONS);
  expect(await applied()).toEqual(PRODUCT_MIGRATIONS);
  expect(await migrate(database.url)).toEqual([]);
});

test('migrate applies only the migrations that were added since the last run', async () => {
  migrations.write({ '0001_first': 'create table first ();' });
  expect(await migrate(database.url, migrations)).toEqual(['0001_first']);
  migrations.write({
    '0002_second': 'create table second ();\n-- a comment at the end',
    '0003_third': 'create table third ()',
  });
  expect(await migrate(database.url, migrations)).toEqual(['0002_second', '0003_third']);
  expect(await exists('third')).toBe(true);
});

test('migrate rolls back a failed migration, stops, and names its file', async () => {
  migrations.write({
    '0001_good': 'create table good ();',
    '0002_bad': 'create table bad ();\ninsert into good (nothing) values (1);',
    '0003_later': 'create table later ();',
  });
  await expect(migrate(database.url, migrations)).rejects.toThrow(
    /^0002_bad\.sql: column "nothing" of relation "good" does not exist$/,
  );
  expect(await applied()).toEqual(['0001_good']);
  expect([await exists('bad'), await exists('later')]).toEqual([false, false]);
  migrations.write({ '0002_bad': 'create table bad ();' });
  expect(await migrate(database.url, migrations)).toEqual(['0002_bad', '0003_later']);
});

test('migrate applies each migration once if two processes run it concurrently', async () => {
  migrations.write({
    '0001_slow': 'create table item (id integer); select pg_sleep(0.3);',
    '0002_next': 'insert into item values (1);',
  });
  const runs = await Promise.all([migrate(database.url, migrations), migrate(database.url, migrations)]);
  expect(runs.flat().sort()).toEqual(['0001_slow', '0002_next']);
  expect((await database.db.query('select from item')).rowCount).toBe(1);
});

test('migrate builds a concurrent index outside of a transaction, even while another process waits', async () => {
  migrations.write({
    '0001_item': 'create table item (id integer); insert into item select generate_series(1, 1000);',
    '0002_slow': 'select pg_sleep(0.5);',
    '0003_item_by_id': '-- no-transaction\ncreate index concurrently item_by_id on item (id);',
  });
  const runs = await Promise.all([migrate(database.url, migrations), migrate(database.url, migrations)]);
  expect(runs.flat().sort()).toEqual(['0001_item', '0002_slow', '0003_item_by_id']);
  const { rows } = await database.db.query(`select indisvalid from pg_index where indexrelid = 'item_by_id'::regclass`);
  expect(rows).toEqual([{ indisvalid: true }]);
});

test('migrate rejects a concurrent index if its file lacks the marker no-transaction', async () => {
  migrations.write({ '0001_item': 'create table item (id integer);' });
  migrations.write({ '0002_item_by_id': 'create index concurrently item_by_id on item (id);' });
  await expect(migrate(database.url, migrations)).rejects.toThrow(/^0002_item_by_id\.sql: .*transaction block$/);
});

test('migrate does not record a failed concurrent index, and runs its migration again', async () => {
  migrations.write({
    '0001_item': 'create table item (id integer); insert into item values (1), (1);',
    '0002_item_id': '-- no-transaction\ncreate unique index concurrently item_id on item (id);',
  });
  await expect(migrate(database.url, migrations)).rejects.toThrow(/^0002_item_id\.sql: could not create unique index/);
  expect(await applied()).toEqual(['0001_item']);
  await database.db.query('drop index item_id; delete from item');
  expect(await migrate(database.url, migrations)).toEqual(['0002_item_id']);
});

test('migrate ignores the timeouts of the database', async () => {
  migrations.write({ '0001_item': 'create table item (id integer);' });
  await migrate(database.url, migrations);
  const name = new URL(database.url).pathname.slice(1);
  for (const timeout of ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']) {
    await database.db.query(`alter database ${name} set ${timeout} = '100ms'`);
  }
  const reader = new pg.Client({
    connectionString: database.url,
    options: '-c idle_in_transaction_session_timeout=0 -c statement_timeout=0 -c lock_timeout=0',
  });
  await reader.connect();
  await reader.query('begin; select from item');
  migrations.write({ '0002_slow': 'select pg_sleep(0.4);', '0003_locked': 'alter table item add name text;' });
  const migrating = migrate(database.url, migrations);
  await until(async () => (await statementsWaiting(database.db, 'alter table item')) === 1, 'the migration waits');
  // Longer than the timeouts.
  await delay(200);
  await reader.end();
  expect(await migrating).toEqual(['0002_slow', '0003_locked']);
});

test('a migration that waits for a lock lets others pass, and is applied when it gets the lock', async () => {
  migrations.write({ '0001_item': 'create table item (id integer);' });
  await migrate(database.url, migrations);
  const reader = await holdTransaction(database.db, 'select from item');
  migrations.write({ '0002_before': 'create table before ();', '0003_locked': 'alter table item add name text;' });
  const busy: Error[] = [];
  const migrating = migrate(database.url, { folder: migrations.folder, onBusy: (error) => busy.push(error) });
  await until(async () => (await statementsWaiting(database.db, 'alter table item')) === 1, 'the migration waits');
  // It would time out each time if the migration did not give up.
  const insert = () => database.db.query('insert into item values (1)').catch(() => undefined);
  await until(insert, 'an insert passes the migration');
  await until(() => busy.length > 0, 'the migration has given up once');
  expect(busy[0]!.message).toMatch(/^0003_locked\.sql.*lock timeout/);
  await reader.rollback();
  expect(await migrating).toEqual(['0002_before', '0003_locked']);
});

test('migrate rejects a file that sorts before an applied one', async () => {
  migrations.write({ '0002_second': 'create table second ();' });
  await migrate(database.url, migrations);
  migrations.write({ '0001_first': 'create table first ();' });
  await expect(migrate(database.url, migrations)).rejects.toThrow(/0001_first/);
  expect(await exists('first')).toBe(false);
});

test('migrate changes nothing on a schema to which a later release has added something', async () => {
  migrations.write({ '0001_first': 'create table first ();', '0002_second': 'create table second ();' });
  await migrate(database.url, migrations);
  rmSync(path.join(migrations.folder, '0002_second.sql'));
  expect(await migrate(database.url, migrations)).toEqual([]);
});

test('the command migrate needs only DATABASE_URL and reports if it is missing', async () => {
  const migrated = await spawnCli([], { DATABASE_URL: database.url }, 'migrate');
  expect(migrated).toMatchObject({ code: 0, stderr: '' });
  expect(migrated.json().applied).toEqual(PRODUCT_MIGRATIONS);
  const missing = await spawnCli([], {}, 'migrate');
  expect(missing).toMatchObject({ code: 1, stderr: 'Invalid configuration:\n  DATABASE_URL is missing\n' });
});
