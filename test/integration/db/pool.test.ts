import { inTransaction } from '../../../src/db/pool';
import { type TestDatabase, createDatabase } from '../../support/database';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const pidOf = async (client: { query: TestDatabase['db']['query'] }): Promise<number> =>
  (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;

const terminate = (pid: number) => database.db.query('select pg_terminate_backend($1)', [pid]);

test('a connection that is lost between two statements of a transaction fails it, and nothing else', async () => {
  const lost = inTransaction(database.db, async (client) => {
    await terminate(await pidOf(client));
    // Time for the loss to arrive while no query listens.
    await new Promise((resolve) => setTimeout(resolve, 200));
    await client.query('select 1');
  });
  await expect(lost).rejects.toThrow();
  expect(await inTransaction(database.db, pidOf)).toEqual(expect.any(Number));
});

test('a connection that is lost under a running statement fails the transaction, and nothing else', async () => {
  const lost = inTransaction(database.db, async (client) => {
    const pid = await pidOf(client);
    setTimeout(() => void terminate(pid), 100);
    await client.query('select pg_sleep(5)');
  });
  await expect(lost).rejects.toThrow();
  expect(await inTransaction(database.db, pidOf)).toEqual(expect.any(Number));
});

test('what a failed transaction wrote is gone', async () => {
  const failed = inTransaction(database.db, async (client) => {
    await client.query('create table half_done ()');
    throw new Error('on purpose');
  });
  await expect(failed).rejects.toThrow('on purpose');
  const { rows } = await database.db.query("select to_regclass('half_done') as found");
  expect(rows).toEqual([{ found: null }]);
});
