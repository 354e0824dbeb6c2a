import { randomUUID } from 'node:crypto';
import { apiOf } from '../../support/api';
import { expectProblem } from '../../support/problems';
import { startStack, createSeller, type Stack } from '../../support/stack';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ worker: false });
});
afterAll(() => stack.stop());

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

  test('may format the same request differently', async () => {
    const key = randomUUID();
    const { seller, api } = stack;
    const path = `/api/lending/edge/ecommerce/seller/${seller.id}/order`;
    const bodies = [
      '{"data":{"amount":0.3,"reference":"same","meta_data":{"a":1}}}',
      ' {"data": {"meta_data": {"a": 1}, "reference": "s\\u0061me", "amount": 0.30000000000000004, "source": null}}',
    ];
    const answers = [];
    for (const body of bodies) {
      answers.push(await api.call('POST', path, { body, headers: { 'Idempotency-Key': key } }));
    }
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(answers[1]!.text).toBe(answers[0]!.text);
  });

  test('may order the keys of meta_data differently', async () => {
    const key = randomUUID();
    const reference = randomUUID();
    const first = await create(key, { reference, meta_data: { a: 1, b: { '10': [], c: [{ d: 1, e: 2 }], '9': '' } } });
    const again = await create(key, { reference, meta_data: { b: { c: [{ e: 2, d: 1 }], '9': '', '10': [] }, a: 1 } });
    expect([again.status, again.text]).toEqual([201, first.text]);
  });

  test.each([
    ['the amount', { amount: 10.01 }],
    ['the reference', { reference: 'another' }],
    ['the payment terms', { allowed_payment_terms: ['PAY_NOW'] }],
    ['the webhook URL', { webhook_url: 'https://shop.example/hooks' }],
    ['the redirect URL', { redirect_url: 'https://shop.example/other' }],
    ['meta_data', { meta_data: { a: [1, 2, {}], b: 2 } }],
    ['the order of an array in meta_data', { meta_data: { a: [2, 1, {}] } }],
    ['an array in meta_data to an object', { meta_data: { a: { 0: 1, 1: 2, 2: {} } } }],
    ['an object in meta_data to null', { meta_data: { a: [1, 2, null] } }],
    ['source', { source: 'another shop' }],
  ])('is refused if it changes %s', async (_, change) => {
    const key = randomUUID();
    const data = { reference: randomUUID(), meta_data: { a: [1, 2, {}] } };
    expect((await create(key, data)).status).toBe(201);
    expectProblem(await create(key, { ...data, ...change }), 422, 'idempotency_key_reused');
    expect((await create(key, data)).headers.get('Idempotency-Replayed')).toBe('true');
    expect(await countOf('another')).toBe(0);
  });

  test('is a new call if another seller makes it', async () => {
    const other = apiOf(stack.api.url, await createSeller(stack.db), stack.api.checkoutKey);
    const mine = await create('shared', { reference: 'shared' });
    const theirs = await create('shared', { reference: 'shared' }, other);
    expect(theirs.status).toBe(201);
    expect(theirs.headers.has('Idempotency-Replayed')).toBe(false);
    expect(theirs.body.data.id).not.toBe(mine.body.data.id);
  });
});

describe('an Idempotency-Key', () => {
  test.each([
    'a',
    'x'.repeat(255),
    '8e03978e-40d5-43dd-bc93-6894a57f9324',
    '"quoted"',
    '!#$%&()*+,-./:;<=>?@[]^_`{|}~',
  ])('may be %s', async (key) => {
    expect((await create(key, { reference: randomUUID() })).status).toBe(201);
  });

  test.each(['', 'x'.repeat(256), 'two words', 'caf\u00e9', 'a, b'])('returns 400 if it is %j', async (key) => {
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

describe('of fifty concurrent calls', () => {
  const fifty = Array.from({ length: 50 }, (_, index) => index);

  test('all with one key and one body get the same order', async () => {
    const answers = await Promise.all(fifty.map(() => create('fifty', { reference: 'fifty' })));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]!.status).toBe(201);
    expect(answers.filter(({ headers }) => headers.has('Idempotency-Replayed'))).toHaveLength(49);
    expect(await countOf('fifty')).toBe(1);
  });

  test('with one key and different bodies, one creates an order and the others get idempotency_key_reused', async () => {
    const answers = await Promise.all(fifty.map((index) => create('bodies', { reference: `bodies ${index}` })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers) if (answer.status !== 201) expectProblem(answer, 422, 'idempotency_key_reused');
    const { rowCount } = await stack.db.query(`select from orders where reference like 'bodies %'`);
    expect(rowCount).toBe(1);
  });

  test('with one reference, one creates an order and the others get its id', async () => {
    const answers = await Promise.all(fifty.map(() => stack.api.create({ reference: 'one of fifty' })));
    const [created, ...more] = answers.filter(({ status }) => status === 201);
    expect(more).toEqual([]);
    for (const answer of answers) {
      if (answer === created) continue;
      const problem = expectProblem(answer, 409, 'duplicate_reference');
      expect(problem.order_id).toBe(created!.body.data.id);
    }
    expect(await countOf('one of fifty')).toBe(1);
  });
});

test('a call that waits too long for the first call returns 409, changes nothing and can be repeated', async () => {
  const { db, seller, api } = stack;
  const { id } = (await api.create()).body.data;
  const first = await db.connect();
  await first.query('begin');
  await first.query('insert into idempotency_key values ($1, $2, $3, $4, $5)', [
    seller.id,
    'slow',
    Buffer.alloc(32),
    id,
    '{}',
  ]);
  const waiting = await create('slow', { reference: 'slow' });
  await first.query('rollback');
  first.release();
  expectProblem(waiting, 409, 'idempotency_key_in_progress');
  expect(Number(waiting.headers.get('Retry-After'))).toBeGreaterThan(0);
  expect(await countOf('slow')).toBe(0);
  expect((await create('slow', { reference: 'slow' })).status).toBe(201);
});

test('a call creates the order itself if the first call that it waits for fails', async () => {
  const { db, seller, api } = stack;
  const { id } = (await api.create()).body.data;
  const first = await db.connect();
  await first.query('begin');
  await first.query('insert into idempotency_key values ($1, $2, $3, $4, $5)', [
    seller.id,
    'failing',
    Buffer.alloc(32),
    id,
    '{}',
  ]);
  const waiting = create('failing', { reference: 'failing' });
  setTimeout(() => void first.query('rollback').then(() => first.release()), 300);
  const { status, headers } = await waiting;
  expect([status, headers.has('Idempotency-Replayed')]).toEqual([201, false]);
});

test('a call that waits too long for another order with its reference returns 503', async () => {
  const { db, api } = stack;
  const { id } = (await api.create()).body.data;
  const other = await db.connect();
  await other.query('begin');
  await other.query('update orders set reference = $1 where id = $2', ['awaited', id]);
  const waiting = await create('awaiting', { reference: 'awaited' });
  await other.query('rollback');
  other.release();
  const problem = expectProblem(waiting, 503, 'service_unavailable');
  expect(problem.detail).toBe(
    'Another call with this reference is still running. Nothing changed. Repeating the call is safe.',
  );
  expect(waiting.headers.get('Retry-After')).toBe('1');
  const { status, headers } = await create('awaiting', { reference: 'awaited' });
  expect([status, headers.has('Idempotency-Replayed')]).toEqual([201, false]);
});
