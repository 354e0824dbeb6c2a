import { randomUUID } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { findApplication } from '../../../src/db/applications';
import { listKeys, revokeKey } from '../../../src/db/api-keys';
import { migrate } from '../../../src/db/migrate';
import { createPool } from '../../../src/db/pool';
import { findCaller } from '../../../src/db/sellers';
import { offerOf } from '../../../src/domain/application';
import { PACKAGE_ROOT } from '../../../tools/package-root';
import { runCli } from '../../support/cli';
import type { TestDatabase } from '../../support/database';
import { createDatabase } from '../../support/database';

let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase();
  await database.db.query('drop schema public cascade; create schema public');
});
afterEach(() => database.drop());

/** The database as an older version left it. */
async function migrateTo(last: string): Promise<void> {
  await database.db.query(
    'create table schema_migration (name text primary key, applied_at timestamptz default now())',
  );
  const folder = path.join(PACKAGE_ROOT, 'src/db/migrations');
  for (const file of readdirSync(folder).sort()) {
    if (file.slice(0, last.length) > last) return;
    await database.db.query(readFileSync(path.join(folder, file), 'utf8'));
    await database.db.query('insert into schema_migration (name) values ($1)', [file]);
  }
}

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
  await migrateTo('0001');
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

test('an offer that was made with dates is due as many months after its agreement, unless those were agreed to', async () => {
  const { db } = database;
  await migrateTo('0006');
  await db.query(`insert into seller (id, name) values (gen_random_uuid(), 'Old Shop')`);
  await db.query(`insert into orders (id, seller_id, seller_name, amount, reference, allowed_payment_terms, redirect_url,
      pay_link_id, pricing, created_at, version, status)
    select gen_random_uuid(), id, name, 3, n, '{PAY_LATER}', 'https://shop.example/', gen_random_uuid(),
      '{"representativeInterest": 0, "promotions": []}', now(), 1, (array['APPROVED', 'APPROVED', 'SUCCESSFUL', 'SUCCESSFUL'])[n]
    from seller, generate_series(1, 4) n`);
  const dated = {
    instalments: [
      { due: '2026-12-21', amountPence: 2 },
      { due: '2027-01-21', amountPence: 1 },
    ],
    interestPence: 0,
  };
  // Offered; agreed to without an answer; agreed to and completed; nothing to repay.
  await db.query(
    `insert into application (order_id, payment_term, decision, decided_at, offer, agreed_at)
     select id, 'PAY_LATER', 'approved', now(), case when reference < '4' then $1::jsonb else $2::jsonb end,
       case when reference > '1' then now() end from orders`,
    [dated, { instalments: [], interestPence: 0 }],
  );
  await migrate(db);
  const offers = async () => {
    const { rows } = await db.query<{ id: string }>('select id from orders order by reference');
    const found = await Promise.all(rows.map(({ id }) => findApplication(db, id)));
    return found.map((application) => [application!.agreedAt !== null, offerOf(application).instalments]);
  };
  const counted = [
    { dueInMonths: 1, amountPence: 2 },
    { dueInMonths: 2, amountPence: 1 },
  ];
  const agreed = counted.map((part, index) => ({ ...part, due: dated.instalments[index]!.due }));
  expect(await offers()).toEqual([
    [false, counted],
    [false, counted],
    [true, agreed],
    [true, []],
  ]);
  // What an old worker writes after that.
  await db.query('update application set offer = $1', [dated]);
  expect((await offers())[0]).toEqual([false, counted]);
});
