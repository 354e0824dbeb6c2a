import { migrate } from '../../src/db/migrate';
import { createPool } from '../../src/db/pool';
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
