import { randomUUID } from 'node:crypto';
import { misfits } from '../../support/contract';
import { holdTransaction, statementsWaiting } from '../../support/database';
import { expectProblem } from '../../support/problems';
import { useStack, withNewSeller } from '../../support/stack';
import { until } from '../../support/until';
import { withApi } from '../../support/with-api';

const stack = useStack({ worker: false });

/** A create call with an Idempotency-Key. */
const create = (key: string, data: Record<string, unknown>, api = stack.api) =>
  api.create(data, { headers: { 'Idempotency-Key': key }, body: { data: { amount: 10, ...data } } });
const countOf = async (reference: string) =>
  (await stack.db.query('select from orders where reference = $1', [reference])).rowCount;

describe('a call that repeats its Idempotency-Key', () => {
  test('gets the first response again, with Idempotency-Replayed: true', async () => {
    const key = randomUUID();
    const first = await create(key, { reference: 'replayed', amount: 0.1 + 0.2 });
    const second = await create(key, { reference: 'replayed', amount: 0.1 + 0.2 });
    expect(first.status).toBe(201);
    expect(first.headers.has('Idempotency-Replayed')).toBe(false);
    expect(second.status).toBe(201);
    expect(second.headers.get('Idempotency-Replayed')).toBe('true');
    expect(second.text).toBe(first.text);
    expect(second.headers.get('Location')).toBe(first.headers.get('Location'));
    expect(await countOf('replayed')).toBe(1);
  });

  test('gets the first response even if the rules have become stricter since', async () => {
    const key = randomUUID();
    const data = {
      reference: 'accepted',
      amount: 100,
      webhook_url: 'http://10.0.0.1/hook',
      redirect_url: 'http://shop.example/',
      cancel_url: 'http://shop.example/cart',
    };
    const first = await create(key, data);
    expect(first.status).toBe(201);
    const env = { NODE_ENV: 'production', WEBHOOK_ALLOW_PRIVATE: 'false', MAX_ORDER_AMOUNT: '50' };
    await withApi(stack, env, async (api) => {
      const replayed = await create(key, data, api);
      expect([replayed.status, replayed.text]).toEqual([201, first.text]);
      expect(replayed.headers.get('Idempotency-Replayed')).toBe('true');
      expectProblem(await create(key, { ...data, amount: 101 }, api), 422, 'idempotency_key_reused');
      const refused = expectProblem(await create(randomUUID(), data, api), 422, 'invalid_request');
      expect(refused.errors.map(({ pointer }) => pointer).sort()).toEqual([
        ...['/data/amount', '/data/cancel_url', '/data/redirect_url', '/data/webhook_url'],
      ]);
    });
  });

  test.each([
    ['the amount', { amount: 10.01 }],
    ['the reference', { reference: 'another' }],
    ['the webhook URL', { webhook_url: 'https://shop.example/hooks' }],
    ['meta_data', { meta_data: { a: [1, 2, {}], b: 2 } }],
    ['the order of an array in meta_data', { meta_data: { a: [2, 1, {}] } }],
    ['an array in meta_data to an object', { meta_data: { a: { 0: 1, 1: 2, 2: {} } } }],
    ['an object in meta_data to null', { meta_data: { a: [1, 2, null] } }],
    ['a number in meta_data to a string', { meta_data: { a: ['1', 2, {}] } }],
    ['source', { source: 'another shop' }],
    ['a field to an unknown one', { sauce: 'x' }],
  ])('is refused if it changes %s', async (_, change) => {
    const key = randomUUID();
    const data = { reference: randomUUID(), meta_data: { a: [1, 2, {}] } };
    expect((await create(key, data)).status).toBe(201);
    expectProblem(await create(key, { ...data, ...change }), 422, 'idempotency_key_reused');
    expect((await create(key, data)).headers.get('Idempotency-Replayed')).toBe('true');
    expect(await countOf('another')).toBe(0);
  });

  test('is a new call if another seller makes it', async () => {
    const { api: other } = await withNewSeller(stack);
    const mine = await create('shared', { reference: 'shared' });
    const theirs = await create('shared', { reference: 'shared' }, other);
    expect(theirs.status).toBe(201);
    expect(theirs.headers.has('Idempotency-Replayed')).toBe(false);
    expect(theirs.body.data.id).not.toBe(mine.body.data.id);
  });
});

describe('an Idempotency-Key', () => {
  const isDocumented = (key: string): boolean =>
    misfits(['components', 'parameters', 'Idempotency-Key', 'schema'], key).length === 0;

  test.each(['x'.repeat(255), '"quoted"', '!"#$%&()*+,-./:;<=>?@[]^_`{|}~'])('may be %s', async (key) => {
    expect(isDocumented(key)).toBe(true);
    expect((await create(key, { reference: randomUUID() })).status).toBe(201);
  });

  test.each(['', 'x'.repeat(256), 'two words', 'caf\u00e9', 'a, b'])('returns 400 if it is %j', async (key) => {
    expect(isDocumented(key)).toBe(false);
    expectProblem(await create(key, { reference: 'bad key' }), 400, 'invalid_idempotency_key');
    expect(await countOf('bad key')).toBe(0);
  });
});

describe('a failed call', () => {
  test('does not use up its key if its body was invalid', async () => {
    const key = randomUUID();
    const reference = randomUUID();
    expectProblem(await create(key, { reference, amount: -1 }), 422, 'invalid_request');
    const { status, headers } = await create(key, { reference });
    expect([status, headers.has('Idempotency-Replayed')]).toEqual([201, false]);
  });

  test('does not use up its key if its reference was in use', async () => {
    const key = randomUUID();
    const taken = randomUUID();
    await stack.api.create({ reference: taken });
    expectProblem(await create(key, { reference: taken }), 409, 'duplicate_reference');
    const { status, headers } = await create(key, { reference: randomUUID() });
    expect([status, headers.has('Idempotency-Replayed')]).toEqual([201, false]);
  });
});

test('of fifty concurrent calls with one key and different bodies, one creates an order and the others get idempotency_key_reused', async () => {
  const bodies = Array.from({ length: 50 }, (_, index) => ({ reference: `bodies ${index}` }));
  const responses = await Promise.all(bodies.map((body) => create('bodies', body)));
  expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
  for (const response of responses) if (response.status !== 201) expectProblem(response, 422, 'idempotency_key_reused');
  const { rowCount } = await stack.db.query(`select from orders where reference like 'bodies %'`);
  expect(rowCount).toBe(1);
});

/** Starts the first call with this key, which keeps running until the transaction ends. */
async function holdFirstCall(key: string) {
  const { db, seller, api } = stack;
  const { id } = (await api.create()).body.data;
  const values = [seller.id, key, Buffer.alloc(32), id, '{}'];
  return holdTransaction(db, 'insert into idempotency_key values ($1, $2, $3, $4, $5)', values);
}

test('a call that waits too long for the first call returns 409, changes nothing and can be repeated', async () => {
  const first = await holdFirstCall('slow');
  const waiting = await create('slow', { reference: 'slow' });
  await first.rollback();
  expectProblem(waiting, 409, 'idempotency_key_in_progress');
  expect(Number(waiting.headers.get('Retry-After'))).toBeGreaterThan(0);
  expect(await countOf('slow')).toBe(0);
  expect((await create('slow', { reference: 'slow' })).status).toBe(201);
});

test('a call creates the order itself if the first call that it waits for fails', async () => {
  const first = await holdFirstCall('failing');
  const waiting = create('failing', { reference: 'failing' });
  await until(async () => (await statementsWaiting(stack.db, 'idempotency_key')) === 1, 'the call waits');
  await first.rollback();
  const { status, headers } = await waiting;
  expect([status, headers.has('Idempotency-Replayed')]).toEqual([201, false]);
});

test('a call that waits too long for another order with its reference returns 503', async () => {
  const { db, api } = stack;
  const { id } = (await api.create()).body.data;
  const other = await holdTransaction(db, 'update orders set reference = $1 where id = $2', ['awaited', id]);
  const waiting = await create('awaiting', { reference: 'awaited' });
  await other.rollback();
  const problem = expectProblem(waiting, 503, 'service_unavailable');
  expect(problem.detail).toBe(
    'The order with this reference is just being created or closed. Nothing changed. Repeating the call is safe.',
  );
  expect(waiting.headers.get('Retry-After')).toBe('1');
  const { status, headers } = await create('awaiting', { reference: 'awaited' });
  expect([status, headers.has('Idempotency-Replayed')]).toEqual([201, false]);
});

test('a call returns 503 if the order with its reference closes between the insert and the search for that order', async () => {
  const { db, api } = stack;
  const { id } = (await api.create()).body.data;
  const holding = await holdTransaction(db, 'update orders set reference = $1 where id = $2', ['freed', id]);
  const waiting = api.create({ reference: 'freed' });
  await until(async () => (await statementsWaiting(db, 'insert into')) === 1, 'the insert waits for the reference');
  // Comes before the search, because the insert holds a lock on the table until it fails.
  const closing = holdTransaction(db, 'lock table orders in access exclusive mode');
  await until(async () => (await statementsWaiting(db, 'lock table')) === 1, 'the lock waits');
  await holding.commit();
  const table = await closing;
  await table.query(`update orders set status = 'UNSUCCESSFUL', version = 2 where id = $1`, [id]);
  await table.commit();
  const problem = expectProblem(await waiting, 503, 'service_unavailable');
  expect(problem.detail).toMatch(/^The order with this reference is just being created or closed/);
  expect((await api.create({ reference: 'freed' })).status).toBe(201);
});

test('a reference that conflicts on every insert but belongs to no order returns 503 and creates nothing', async () => {
  const { db, api } = stack;
  await db.query(`create function raise_conflict() returns trigger language plpgsql as $$
    begin raise exception using errcode = '23505', constraint = 'orders_reference'; end $$`);
  await db.query(`create trigger raise_conflict before insert on orders for each row
    when (new.reference = 'conflicting') execute function raise_conflict()`);
  const response = await api.create({ reference: 'conflicting' });
  await db.query('drop trigger raise_conflict on orders');
  expect(expectProblem(response, 503, 'service_unavailable').detail).toMatch(/Nothing changed\. Repeating .* is safe/);
  expect(response.headers.get('Retry-After')).toBe('1');
  expect((await api.create({ reference: 'conflicting' })).status).toBe(201);
});
