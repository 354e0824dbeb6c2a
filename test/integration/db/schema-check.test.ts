import { rmSync } from 'node:fs';
import path from 'node:path';
import { migrate, SchemaError, assertSchemaIsCurrent, waitForCurrentSchema } from '../../../src/db/migrations';
import { createPool } from '../../../src/db/pool';
import { freePort } from '../../../tools/local-stack/ports';
import { alterDatabase } from '../../support/database';
import { spawnCli } from '../../support/cli';
import { until } from '../../support/until';
import { PRODUCT_MIGRATIONS, useEmptyDatabase, useMigrations } from './migrations';

const database = useEmptyDatabase();
const migrations = useMigrations();

test('the schema check accepts a schema that has exactly the migrations of the build', async () => {
  await migrate(database.url);
  await expect(assertSchemaIsCurrent(database.db)).resolves.toBeUndefined();
});

test('the schema check rejects an empty database and names the command to run', async () => {
  const rejected = assertSchemaIsCurrent(database.db);
  await expect(rejected).rejects.toThrow(SchemaError);
  await expect(rejected).rejects.toThrow(
    `The database schema is older than this build: run the migrations (node dist/src/migrate.js). Missing: ${PRODUCT_MIGRATIONS.join(', ')}`,
  );
});

test('the schema check rejects an older schema, and accepts what a later release has added', async () => {
  migrations.write({ '0001_first': 'create table first ();' });
  await migrate(database.url, migrations);
  migrations.write({ '0002_second': 'create table second ();' });
  await expect(assertSchemaIsCurrent(database.db, migrations.folder)).rejects.toThrow(
    /older than this build.*0002_second$/,
  );
  await migrate(database.url, migrations);
  await expect(assertSchemaIsCurrent(database.db, migrations.folder)).resolves.toBeUndefined();
  rmSync(path.join(migrations.folder, '0002_second.sql'));
  await expect(assertSchemaIsCurrent(database.db, migrations.folder)).resolves.toBeUndefined();
});

test('the schema check rejects a schema from which a later release has removed something', async () => {
  migrations.write({ '0001_first': 'create table first ();', '0002_contract_first': 'drop table first;' });
  await migrate(database.url, migrations);
  rmSync(path.join(migrations.folder, '0002_contract_first.sql'));
  await expect(assertSchemaIsCurrent(database.db, migrations.folder)).rejects.toThrow(
    'This build is older than the database schema: deploy the build that has 0002_contract_first',
  );
});

test('the schema check waits until Postgres is reachable, then refuses an old schema', async () => {
  await alterDatabase(database.url, 'allow_connections false');
  const db = createPool(database.url, 1, () => undefined);
  const errors: unknown[] = [];
  const check = waitForCurrentSchema(db, (error) => errors.push(error)).then(
    () => 'current',
    (error: unknown) => error,
  );
  await until(() => errors.length > 0, 'the check has failed once');
  await alterDatabase(database.url, 'allow_connections true');
  expect(await check).toBeInstanceOf(SchemaError);
  await db.end();
});

test('the schema check resolves if the pool is closed while Postgres is unreachable', async () => {
  const db = createPool(`postgres://127.0.0.1:${await freePort()}/orders`, 1, () => undefined);
  const errors: unknown[] = [];
  const check = waitForCurrentSchema(db, (error) => errors.push(error));
  await until(() => errors.length > 0, 'the check has failed once');
  await db.end();
  await expect(check).resolves.toBeUndefined();
});

test('the API exits with one sentence if the schema is older', async () => {
  const env = { DATABASE_URL: database.url, CHECKOUT_BASE_URL: 'https://checkout.example', PORT: '0' };
  const run = await spawnCli([], env, 'server');
  expect(run.code).toBe(1);
  expect(run.stderr).toMatch(/^The database schema is older than this build: .*\n$/);
  expect(run.stdout).not.toContain('API started');
});
