import { type Migration, readMigrations } from '../../../src/db/migrations';
import { VERSION } from '../../../src/package';
import { migrationFaults } from '../../support/migration-faults';

const file = (sql: string, name = '0002_change'): Migration => ({
  ...{ name, sql },
  transactional: !sql.startsWith('-- no-transaction'),
});

test('every migration can be applied while the previous release serves', async () => {
  for (const migration of await readMigrations()) {
    expect([migration.name, migrationFaults(migration, VERSION)]).toEqual([migration.name, []]);
  }
});

test.each([
  ['create index orders_by_source on orders (source)', /concurrently/],
  ['alter table orders alter column version type bigint', /rewrites/],
  ['alter table orders alter version set data type bigint', /rewrites/],
  ['alter table orders alter column source set not null', /not valid/],
  ['alter table orders add constraint short check (length(source) < 9)', /validate/],
  ['alter table orders add column channel text not null', /previous release/],
  ['alter table orders add column token uuid default gen_random_uuid()', /rewrites/],
  ['update orders set source = lower(source)', /batches/],
  ['do $$ begin update orders set source = null; end $$', /batches/],
  ['lock table orders', /blocks/],
  ['-- no-transaction\nselect 1; select 2', /one statement/],
  ['alter table orders drop column source', /later release/],
  ['ALTER TABLE orders\n  RENAME COLUMN source TO origin', /later release/],
  ['drop table application', /later release/],
])('a migration that would refuse or break calls fails the check: %s', (sql, fault) => {
  expect(migrationFaults(file(sql), '1.3.0')).toEqual([expect.stringMatching(fault)]);
});

test.each([
  'alter table orders add column channel text',
  "alter table orders add column channel text not null default 'api'",
  'alter table orders add constraint short check (length(source) < 9) not valid',
  'alter table orders validate constraint short',
  '-- no-transaction\ncreate index concurrently orders_by_source on orders (source)',
  '-- no-transaction\ndo $$ begin loop update orders set source = null; commit; end loop; end $$',
  'create table refund (id uuid primary key); create index refund_by_id on refund (id)',
  'create or replace function f() returns void language sql as $$ update orders set source = null; drop table x $$',
])('a migration that waits for nobody passes the check: %s', (sql) => {
  expect(migrationFaults(file(sql), '1.3.0')).toEqual([]);
});

test.each([
  ['0007_contract_source', '1.2.9', 0],
  ['0007_contract_source', '1.10.0', 1],
  ['0007_drop_source', '1.2.9', 1],
])('a contraction names an earlier release that no longer uses it: %s, unused since %s', (name, since, faults) => {
  const sql = `-- unused since ${since}\nalter table orders drop column source;`;
  expect(migrationFaults(file(sql, name), '1.3.0')).toHaveLength(faults);
});
