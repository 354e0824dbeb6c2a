import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { listKeys, revokeKey } from '../../src/db/keys';
import { migrate } from '../../src/db/migrate';
import { createPool } from '../../src/db/pool';
import { findCaller } from '../../src/db/sellers';
import { PACKAGE_ROOT } from '../../src/package-root';
import { runCli } from '../support/cli';
import type { TestDatabase } from '../support/database';
import { createDatabase } from '../support/database';

let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase();
  await database.db.query('drop schema public cascade; create schema public');
});
afterEach(() => database.drop());

const applied = async () =>
  (await database.db.query<{ name: string }>('select name from schema_migration order by name')).rows.map(
    ({ name }) => name,
  );

test('an empty database gets every migration, in order; a second run has nothing to do', async () => {
  const first = await migrate(database.db);
  expect(first[0]).toBe('0001_orders.sql');
  expect(first).toEqual([...first].sort());
  expect(await applied()).toEqual(first);
  expect(await migrate(database.db)).toEqual([]);
});

test('two processes that migrate at once apply each migration once', async () => {
  const other = createPool(database.url, 2, () => undefined);
  const [mine, theirs] = await Promise.all([migrate(database.db), migrate(other)]);
  await other.end();
  expect([...mine, ...theirs].sort()).toEqual(await applied());
});

test('the command needs a database and nothing else, and says so plainly where there is none', async () => {
  const migrated = await runCli([], { DATABASE_URL: database.url }, 'migrate');
  expect(migrated).toMatchObject({ code: 0, stderr: '' });
  expect(migrated.stdout).toContain('0001_orders.sql');
  const lost = await runCli([], {}, 'migrate');
  expect(lost).toMatchObject({ code: 1, stderr: 'The configuration is wrong:\n  DATABASE_URL: is missing\n' });
});

test('keys that were made before keys had numbers still work, and can be listed and revoked', async () => {
  const { db } = database;
  await db.query(readFileSync(path.join(PACKAGE_ROOT, 'src/db/migrations/0001_orders.sql'), 'utf8'));
  await db.query(`create table schema_migration (name text primary key, applied_at timestamptz default now());
    insert into schema_migration (name) values ('0001_orders.sql')`);
  const [sellerId, key] = [randomUUID(), 'sk_old'];
  await db.query(`insert into seller (id, name) values ($1, 'Old Shop')`, [sellerId]);
  await db.query(`insert into api_key (digest, kind, seller_id) values (sha256($1), 'seller', $2)`, [key, sellerId]);
  await migrate(db);
  const [old] = await listKeys(db, { kind: 'seller', sellerId });
  expect(old).toMatchObject({ id: 1, startsWith: null, label: null, revokedAt: null });
  expect(await findCaller(db, key)).toBeDefined();
  expect(await revokeKey(db, old!.id, 'seller')).toEqual(expect.any(Date));
  expect(await findCaller(db, key)).toBeUndefined();
});
