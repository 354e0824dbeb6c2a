import type { PoolClient } from 'pg';
import { createPool, inTransaction } from '../../../src/db/pool';
import { insertOrder } from '../../../src/db/orders';
import { useDatabase } from '../../support/database';
import { newOrder, newSeller } from '../../support/new-orders';
import { until } from '../../support/until';

const database = useDatabase();

const pidOf = async (client: PoolClient): Promise<number> =>
  (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;

const terminate = (pid: number) => database.db.query('select pg_terminate_backend($1)', [pid]);

const isSleeping = async (pid: number): Promise<boolean> =>
  (await database.db.query(`select from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'`, [pid]))
    .rowCount === 1;

test('a connection that is lost between two statements fails only its transaction', async () => {
  const transaction = inTransaction(database.db, async (client) => {
    const isLost = new Promise((resolve) => client.once('end', resolve));
    await terminate(await pidOf(client));
    await isLost;
    await client.query('select 1');
  });
  await expect(transaction).rejects.toThrow();
  expect(await inTransaction(database.db, pidOf)).toEqual(expect.any(Number));
});

test('a connection that is lost during a statement fails only its transaction', async () => {
  let pid = 0;
  const transaction = inTransaction(database.db, async (client) => {
    pid = await pidOf(client);
    await client.query('set local statement_timeout = 0');
    // Ends before the pool gives up the query.
    await client.query('select pg_sleep(50)');
  });
  const failure = expect(transaction).rejects.toThrow(/terminat/);
  await until(() => isSleeping(pid), 'the statement runs');
  await terminate(pid);
  await failure;
  expect(await inTransaction(database.db, pidOf)).toEqual(expect.any(Number));
});

test('a failed transaction is rolled back', async () => {
  const transaction = inTransaction(database.db, async (client) => {
    await client.query('create table half_done ()');
    throw new Error('on purpose');
  });
  await expect(transaction).rejects.toThrow('on purpose');
  const { rows } = await database.db.query("select to_regclass('half_done') as found");
  expect(rows).toEqual([{ found: null }]);
});

test('a refused insert keeps its connection', async () => {
  const order = newOrder(await newSeller(database.db));
  const pool = createPool(database.url, 1, () => undefined);
  const pid = async () => (await pool.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;
  const before = await pid();
  await insertOrder(pool, order);
  const duplicate = insertOrder(pool, { ...newOrder(order.sellerId), reference: order.reference });
  await expect(duplicate).rejects.toMatchObject({ code: '23505' });
  expect(await pid()).toBe(before);
  await pool.end();
});
