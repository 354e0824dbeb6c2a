import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { MIGRATIONS_FOLDER } from '../../../src/db/migration-files';
import { migrate } from '../../../src/db/migrate';
import { createPool } from '../../../src/db/pool';
import { SchemaError, assertSchemaIsCurrent, waitForCurrentSchema } from '../../../src/db/schema-check';
import { freePort } from '../../../tools/local-stack/ports';
import { runCli } from '../../support/cli';
import { type TestDatabase, createDatabase } from '../../support/database';
import { until } from '../../support/until';

let database: TestDatabase;
let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'order-service-migrations-'));
  database = await createDatabase();
  await database.db.query('drop schema public cascade; create schema public');
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await database.drop();
});

const PRODUCT_MIGRATIONS = readdirSync(MIGRATIONS_FOLDER)
  .sort()
  .map((file) => path.basename(file, '.sql'));

function write(files: Record<string, string>): void {
  for (const [name, sql] of Object.entries(files)) writeFileSync(path.join(folder, `${name}.sql`), sql);
}

async function applied(): Promise<string[]> {
  const { rows } = await database.db.query<{ name: string }>('select name from schema_migration order by id');
  return rows.map(({ name }) => name);
}

async function exists(relation: string): Promise<boolean> {
  const { rows } = await database.db.query<{ found: boolean }>('select to_regclass($1) is not null as found', [
    relation,
  ]);
  return rows[0]!.found;
}

describe('migrate', () => {
  test('applies every migration of the product to an empty database, and nothing the second time', async () => {
    expect(await migrate(database.url)).toEqual(PRODUCT_MIGRATIONS);
    expect(await applied()).toEqual(PRODUCT_MIGRATIONS);
    expect(await migrate(database.url)).toEqual([]);
  });

  test('applies only the migrations that were added since the last run', async () => {
    write({ '0001_first': 'create table first ();' });
    expect(await migrate(database.url, folder)).toEqual(['0001_first']);
    write({ '0002_second': 'create table second ();\n-- a comment at the end', '0003_third': 'create table third ()' });
    expect(await migrate(database.url, folder)).toEqual(['0002_second', '0003_third']);
    expect(await exists('third')).toBe(true);
  });

  test('rolls back a failed migration, stops, and names its file and line', async () => {
    write({
      '0001_good': 'create table good ();',
      '0002_bad': 'create table bad ();\ninsert into good (nothing) values (1);',
      '0003_later': 'create table later ();',
    });
    await expect(migrate(database.url, folder)).rejects.toThrow(
      /^0002_bad\.sql:2: column "nothing" of relation "good" does not exist$/,
    );
    expect(await applied()).toEqual(['0001_good']);
    expect([await exists('bad'), await exists('later')]).toEqual([false, false]);
    write({ '0002_bad': 'create table bad ();' });
    expect(await migrate(database.url, folder)).toEqual(['0002_bad', '0003_later']);
  });

  test('applies each migration once if two processes run it concurrently', async () => {
    write({
      '0001_slow': 'create table item (id integer); select pg_sleep(0.3);',
      '0002_next': 'insert into item values (1);',
    });
    const runs = await Promise.all([migrate(database.url, folder), migrate(database.url, folder)]);
    expect(runs.flat().sort()).toEqual(['0001_slow', '0002_next']);
    expect((await database.db.query('select from item')).rowCount).toBe(1);
  });

  test('builds a concurrent index outside of a transaction, even while another process waits', async () => {
    write({
      '0001_item': 'create table item (id integer); insert into item select generate_series(1, 1000);',
      '0002_slow': 'select pg_sleep(0.5);',
      '0003_item_by_id': '-- no-transaction\ncreate index concurrently item_by_id on item (id);',
    });
    const runs = await Promise.all([migrate(database.url, folder), migrate(database.url, folder)]);
    expect(runs.flat().sort()).toEqual(['0001_item', '0002_slow', '0003_item_by_id']);
    const { rows } = await database.db.query(
      `select indisvalid from pg_index where indexrelid = 'item_by_id'::regclass`,
    );
    expect(rows).toEqual([{ indisvalid: true }]);
  });

  test('rejects a concurrent index without the marker', async () => {
    write({ '0001_item': 'create table item (id integer);' });
    write({ '0002_item_by_id': 'create index concurrently item_by_id on item (id);' });
    await expect(migrate(database.url, folder)).rejects.toThrow(/^0002_item_by_id\.sql: .*transaction block$/);
  });

  test('does not record a failed concurrent index, and runs its migration again', async () => {
    write({
      '0001_item': 'create table item (id integer); insert into item values (1), (1);',
      '0002_item_id': '-- no-transaction\ncreate unique index concurrently item_id on item (id);',
    });
    await expect(migrate(database.url, folder)).rejects.toThrow(/^0002_item_id\.sql: could not create unique index/);
    expect(await applied()).toEqual(['0001_item']);
    await database.db.query('drop index item_id; delete from item');
    expect(await migrate(database.url, folder)).toEqual(['0002_item_id']);
  });

  test('ignores the timeouts of the database', async () => {
    write({ '0001_item': 'create table item (id integer);' });
    await migrate(database.url, folder);
    const name = new URL(database.url).pathname.slice(1);
    for (const timeout of ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']) {
      await database.db.query(`alter database ${name} set ${timeout} = '100ms'`);
    }
    const reader = new pg.Client({
      connectionString: database.url,
      options: '-c idle_in_transaction_session_timeout=0',
    });
    await reader.connect();
    await reader.query('begin; select from item');
    write({ '0002_slow': 'select pg_sleep(0.4);', '0003_locked': 'alter table item add name text;' });
    const migrating = migrate(database.url, folder);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await reader.end();
    expect(await migrating).toEqual(['0002_slow', '0003_locked']);
  });

  test('rejects a changed file by name and changes nothing', async () => {
    write({ '0001_first': 'create table first ();', '0002_second': 'create table second ();' });
    await migrate(database.url, folder);
    write({ '0001_first': 'create table first (id integer);', '0003_third': 'create table third ();' });
    const rejected = migrate(database.url, folder);
    await expect(rejected).rejects.toThrow(SchemaError);
    await expect(rejected).rejects.toThrow(/0001_first\.sql has changed/);
    expect(await exists('third')).toBe(false);
  });

  test('rejects a file that sorts before an applied one', async () => {
    write({ '0002_second': 'create table second ();' });
    await migrate(database.url, folder);
    write({ '0001_first': 'create table first ();' });
    await expect(migrate(database.url, folder)).rejects.toThrow(/0001_first/);
    expect(await exists('first')).toBe(false);
  });

  test('rejects a newer schema', async () => {
    write({ '0001_first': 'create table first ();', '0002_second': 'create table second ();' });
    await migrate(database.url, folder);
    rmSync(path.join(folder, '0002_second.sql'));
    await expect(migrate(database.url, folder)).rejects.toThrow(/older than the database schema.*0002_second/);
  });
});

describe('the schema check', () => {
  test('accepts a schema that has exactly the migrations of the build', async () => {
    await migrate(database.url);
    await expect(assertSchemaIsCurrent(database.db)).resolves.toBeUndefined();
  });

  test('refuses an empty database and names the command to run', async () => {
    const rejected = assertSchemaIsCurrent(database.db);
    await expect(rejected).rejects.toThrow(SchemaError);
    await expect(rejected).rejects.toThrow(
      `The database schema is older than this build: run the migrations (node dist/src/migrate.js). Missing: ${PRODUCT_MIGRATIONS.join(', ')}`,
    );
  });

  test('refuses an older schema, a newer schema and a changed file', async () => {
    write({ '0001_first': 'create table first ();' });
    await migrate(database.url, folder);
    write({ '0002_second': 'create table second ();' });
    await expect(assertSchemaIsCurrent(database.db, folder)).rejects.toThrow(/older than this build.*0002_second$/);
    await migrate(database.url, folder);
    await expect(assertSchemaIsCurrent(database.db, folder)).resolves.toBeUndefined();
    rmSync(path.join(folder, '0002_second.sql'));
    await expect(assertSchemaIsCurrent(database.db, folder)).rejects.toThrow(
      'This build is older than the database schema: deploy the build that has 0002_second',
    );
    write({ '0001_first': '', '0002_second': 'create table second ();' });
    await expect(assertSchemaIsCurrent(database.db, folder)).rejects.toThrow(/0001_first\.sql has changed/);
  });

  test('waits until Postgres is reachable, then refuses an old schema', async () => {
    const name = new URL(database.url).pathname.slice(1);
    const admin = new pg.Client({ connectionString: database.url.replace(/[^/]*$/, 'postgres') });
    await admin.connect();
    await admin.query(`alter database ${name} allow_connections false`);
    const db = createPool(database.url, 1, () => undefined);
    const errors: unknown[] = [];
    const check = waitForCurrentSchema(db, (error) => errors.push(error)).then(
      () => 'current',
      (error: unknown) => error,
    );
    await until(() => errors.length > 0, 'the check has failed once');
    await admin.query(`alter database ${name} allow_connections true`);
    expect(await check).toBeInstanceOf(SchemaError);
    await db.end();
    await admin.end();
  });

  test('resolves if the pool is closed while Postgres is unreachable', async () => {
    const db = createPool(`postgres://127.0.0.1:${await freePort()}/orders`, 1, () => undefined);
    const errors: unknown[] = [];
    const check = waitForCurrentSchema(db, (error) => errors.push(error));
    await until(() => errors.length > 0, 'the check has failed once');
    await db.end();
    await expect(check).resolves.toBeUndefined();
  });
});

describe('a command', () => {
  test('migrate needs only DATABASE_URL and reports if it is missing', async () => {
    const migrated = await runCli([], { DATABASE_URL: database.url }, 'migrate');
    expect(migrated).toMatchObject({ code: 0, stderr: '' });
    expect(migrated.json().applied).toEqual(PRODUCT_MIGRATIONS);
    const missing = await runCli([], {}, 'migrate');
    expect(missing).toMatchObject({ code: 1, stderr: 'The configuration is wrong:\n  DATABASE_URL: is missing\n' });
  });

  test('server exits with one sentence if the schema is old', async () => {
    const env = { DATABASE_URL: database.url, CHECKOUT_BASE_URL: 'https://checkout.example', PORT: '0' };
    const run = await runCli([], env, 'server');
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/^The database schema is older than this build: .*\n$/);
    expect(run.stdout).not.toContain('API started');
  });
});
