import { randomUUID } from 'node:crypto';
import { apiOf } from '../../support/api';
import { expectProblem } from '../../support/problems';
import { createSeller, type Stack, startStack } from '../../support/stack';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ worker: false });
});
afterAll(() => stack.stop());

/** A create call with a key, by the stack's seller. */
const create = (key: string, data: Record<string, unknown>, api = stack.api) =>
  api.create(data, { headers: { 'Idempotency-Key': key }, body: { data: { amount: 10, ...data } } });
const countOf = async (reference: string) =>
  (await stack.db.query('select from orders where reference = $1', [reference])).rowCount;

describe('a call that repeats its key', () => {
  test('gets the first answer again: status, body, Location, and a header that says so', async () => {
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

  test('may write the same request another way', async () => {
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

  test('may nest its meta_data in another order of keys', async () => {
    const key = randomUUID();
    const reference = randomUUID();
    const first = await create(key, { reference, meta_data: { a: 1, b: { '10': [], c: [{ d: 1, e: 2 }], '9': '' } } });
    const again = await create(key, { reference, meta_data: { b: { c: [{ e: 2, d: 1 }], '9': '', '10': [] }, a: 1 } });
    expect([again.status, again.text]).toEqual([201, first.text]);
  });

  test.each([
    ['amount', { amount: 10.01 }],
    ['reference', { reference: 'another' }],
    ['payment terms', { allowed_payment_terms: ['PAY_NOW'] }],
    ['webhook address', { webhook_url: 'https://shop.example/hooks' }],
    ['redirect address', { redirect_url: 'https://shop.example/other' }],
    ['meta_data', { meta_data: { a: [1, 2, {}], b: 2 } }],
    ['meta_data: the order of a list counts', { meta_data: { a: [2, 1, {}] } }],
    ['meta_data: a list is no object', { meta_data: { a: { 0: 1, 1: 2, 2: {} } } }],
    ['meta_data: null is something', { meta_data: { a: [1, 2, null] } }],
    ['source', { source: 'another shop' }],
  ])('is refused where it asks for another %s', async (_, change) => {
    const key = randomUUID();
    const data = { reference: randomUUID(), meta_data: { a: [1, 2, {}] } };
    expect((await create(key, data)).status).toBe(201);
    expectProblem(await create(key, { ...data, ...change }), 422, 'idempotency_key_reused');
    expect((await create(key, data)).headers.get('Idempotency-Replayed')).toBe('true');
    expect(await countOf('another')).toBe(0);
  });

  test('is another call where another seller makes it', async () => {
    const other = apiOf(stack.api.url, await createSeller(stack.db), stack.api.checkoutKey);
    const mine = await create('shared', { reference: 'shared' });
    const theirs = await create('shared', { reference: 'shared' }, other);
    expect(theirs.status).toBe(201);
    expect(theirs.headers.has('Idempotency-Replayed')).toBe(false);
    expect(theirs.body.data.id).not.toBe(mine.body.data.id);
  });
});

describe('a key', () => {
  test.each([
    'a',
    'x'.repeat(255),
    '8e03978e-40d5-43dd-bc93-6894a57f9324',
    '"quoted"',
    '!#$%&()*+,-./:;<=>?@[]^_`{|}~',
  ])('may be %s', async (key) => {
    expect((await create(key, { reference: randomUUID() })).status).toBe(201);
  });

  test.each(['', 'x'.repeat(256), 'two words', 'caf\u00e9', 'a, b'])('may not be %j: 400', async (key) => {
    expectProblem(await create(key, { reference: 'bad key' }), 400, 'invalid_idempotency_key');
    expect(await countOf('bad key')).toBe(0);
  });
});

describe('a call that failed', () => {
  test('for its body does not use up its key', async () => {
    const key = randomUUID();
    const reference = randomUUID();
    expectProblem(await create(key, { reference, amount: -1 }), 422, 'invalid_request');
    const { status, headers } = await create(key, { reference });
    expect([status, headers.has('Idempotency-Replayed')]).toEqual([201, false]);
  });

  test('for its reference does not use up its key', async () => {
    const key = randomUUID();
    const taken = randomUUID();
    await stack.api.create({ reference: taken });
    expectProblem(await create(key, { reference: taken }), 409, 'duplicate_reference');
    const { status, headers } = await create(key, { reference: randomUUID() });
    expect([status, headers.has('Idempotency-Replayed')]).toEqual([201, false]);
  });
});

describe('at once', () => {
  const fifty = Array.from({ length: 50 }, (_, index) => index);

  test('fifty calls with one key make one order and get one answer', async () => {
    const answers = await Promise.all(fifty.map(() => create('fifty', { reference: 'fifty' })));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]!.status).toBe(201);
    expect(answers.filter(({ headers }) => headers.has('Idempotency-Replayed'))).toHaveLength(49);
    expect(await countOf('fifty')).toBe(1);
  });

  test('fifty calls with one key and fifty bodies make one order; the others are told of the reuse', async () => {
    const answers = await Promise.all(fifty.map((index) => create('bodies', { reference: `bodies ${index}` })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers) if (answer.status !== 201) expectProblem(answer, 422, 'idempotency_key_reused');
    const { rowCount } = await stack.db.query(`select from orders where reference like 'bodies %'`);
    expect(rowCount).toBe(1);
  });

  test('fifty calls with one reference make one order; the others are told which', async () => {
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

test('a call that waits too long for the first one is told so, makes nothing, and may be repeated', async () => {
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

test('a call that waits for a first one which fails makes the order itself', async () => {
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

test('a call that waits too long for another order with its reference is not told that its key is in use', async () => {
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
    'Another call with this reference is still running. Nothing was changed; repeating the call is safe.',
  );
  expect(waiting.headers.get('Retry-After')).toBe('1');
  const { status, headers } = await create('awaiting', { reference: 'awaited' });
  expect([status, headers.has('Idempotency-Replayed')]).toEqual([201, false]);
});
