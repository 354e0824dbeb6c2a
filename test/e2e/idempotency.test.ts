import type { Answer, Api } from '../support/api';
import { apiOf } from '../support/api';
import { statementsWaiting } from '../support/database';
import { openOrder } from '../support/orders';
import { expectProblem } from '../support/problems';
import type { ServiceProcess } from '../support/processes';
import { killProcesses, startProcess } from '../support/processes';
import type { Stack } from '../support/stack';
import { startStack } from '../support/stack';
import { until } from '../support/until';

jest.setTimeout(60_000);

let stack: Stack;
/** Two API processes beside each other, on one database. */
let apis: Api[];
beforeAll(async () => {
  stack = await startStack();
  apis = (await Promise.all([startApi(), startApi()])).map(({ api }) => api);
});
afterAll(async () => {
  await killProcesses();
  await stack.stop();
});

async function startApi(): Promise<{ process: ServiceProcess; api: Api }> {
  const server = await startProcess('server', {
    ...stack.env,
    TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS!,
    TEMPORAL_NAMESPACE: stack.temporal.namespace!,
  });
  return {
    process: server,
    api: apiOf(`http://127.0.0.1:${server.port}`, stack.seller, stack.api.checkoutKey),
  };
}

const create = (api: Api, reference: string, key?: string): Promise<Answer> =>
  api.create({ reference }, key === undefined ? {} : { headers: { 'Idempotency-Key': key } });
const atOnce = (count: number, call: (api: Api, index: number) => Promise<Answer>): Promise<Answer[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => call(apis[index % 2]!, index)));
/** On a busy machine some wait too long for a connection to Postgres; a 503 promises that the repeat is safe. */
const settled = (call: () => Promise<Answer>): Promise<Answer> =>
  until(async () => {
    const answer = await call();
    return answer.status === 503 ? undefined : answer;
  }, 'it is answered');
const isReplay = ({ headers }: Answer): boolean => headers.get('Idempotency-Replayed') === 'true';

/** What Postgres holds of the orders with a reference. */
async function ordersWith(reference: string): Promise<{ id: string; status: string }[]> {
  const sql = 'select id, status from orders where reference = $1 order by created_at';
  return (await stack.db.query<{ id: string; status: string }>(sql, [reference])).rows;
}

test('200 calls at once with one key over two processes make one order and get one answer', async () => {
  const body = { body: { data: { amount: 10, reference: 'one key' } }, headers: { 'Idempotency-Key': 'one-key' } };
  const answers = await atOnce(200, (api) => settled(() => api.create({}, body)));
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers[0]!.status).toBe(201);
  expect(answers.filter(isReplay)).toHaveLength(199);
  expect(await ordersWith('one key')).toEqual([{ id: answers[0]!.body.data.id, status: 'CREATED' }]);
});

test.each([
  ['no key', () => undefined],
  ['a key each', (index: number) => `key-${index}`],
])('200 calls at once with one reference and %s make one order; the others are told which', async (how, keyOf) => {
  const answers = await atOnce(200, (api, index) => settled(() => create(api, how, keyOf(index))));
  const [made, ...more] = answers.filter(({ status }) => status === 201);
  expect(more).toEqual([]);
  expect(await ordersWith(how)).toEqual([{ id: made!.body.data.id, status: 'CREATED' }]);
  for (const answer of answers) {
    if (answer === made) continue;
    expect(expectProblem(answer, 409, 'duplicate_reference').order_id).toBe(made!.body.data.id);
  }
  const { rowCount } = await stack.db.query('select from idempotency_key where key like $1', ['key-%']);
  expect(rowCount).toBe(how === 'no key' ? 0 : 1);
});

test('a worker forgets a key after its 30 days, not before; what it made stays', async () => {
  const made = await create(apis[0]!, 'forgotten', 'forgotten');
  const age = (days: number) =>
    stack.db.query(`update idempotency_key set created_at = now() - $1 * interval '1 day' where key = 'forgotten'`, [
      days,
    ]);
  const isKept = async () =>
    (await stack.db.query(`select from idempotency_key where key = 'forgotten'`)).rowCount === 1;
  await age(29.9);
  // Another key, older, shows that the worker has looked.
  await stack.db.query(`insert into idempotency_key select seller_id, 'marker', request_digest, order_id, response,
    now() - interval '31 days' from idempotency_key where key = 'forgotten'`);
  const marker = async () => (await stack.db.query(`select from idempotency_key where key = 'marker'`)).rowCount === 0;
  await until(marker, 'the worker has looked');
  const replayed = await create(apis[1]!, 'forgotten', 'forgotten');
  expect([replayed.status, replayed.text, isReplay(replayed)]).toEqual([201, made.text, true]);
  await age(30.1);
  await until(async () => !(await isKept()), 'it is forgotten');
  const again = await create(apis[1]!, 'forgotten', 'forgotten');
  expect(expectProblem(again, 409, 'duplicate_reference').order_id).toBe(made.body.data.id);
});

describe('an API process killed between the claim of a key and its commit', () => {
  const waiting = (count: number) =>
    until(async () => (await statementsWaiting(stack.db, 'insert into idempotency_key')) === count, 'they wait');

  interface Killed {
    second: Promise<Answer>;
    /** The process of Postgres that works for the killed one. */
    backend: number;
    release: () => Promise<void>;
  }

  /** Has a create call stop behind its claim, at the row of its seller; a second one waits for it; kills the first's process. */
  async function killed(key: string): Promise<Killed> {
    const doomed = await startApi();
    const lock = await stack.db.connect();
    await lock.query('begin');
    await lock.query('select from seller where id = $1 for update', [stack.seller.id]);
    const body = { body: { data: { amount: 10, reference: key } }, headers: { 'Idempotency-Key': key } };
    const first = doomed.api.create({}, body).catch(() => 'cut off');
    await waiting(1);
    const { rows } = await stack.db.query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    const second = apis[1]!.create({}, body);
    await waiting(2);
    await doomed.process.signal('SIGKILL');
    expect(await first).toBe('cut off');
    return {
      second,
      backend: rows[0]!.pid,
      async release() {
        await lock.query('rollback');
        lock.release();
      },
    };
  }

  test('leaves no order half made: where Postgres finishes it, the waiting call replays it', async () => {
    const { second, release } = await killed('finished');
    await release();
    const answer = await second;
    expect([answer.status, isReplay(answer)]).toEqual([201, true]);
    expect(await ordersWith('finished')).toEqual([{ id: answer.body.data.id, status: 'CREATED' }]);
    await until(
      async () => (await stack.api.get(answer.body.data.id)).headers.get('Order-Source') === 'workflow',
      'it runs',
    );
  });

  test('does not hold the key: where Postgres undoes it, the waiting call makes the order', async () => {
    const { second, backend, release } = await killed('undone');
    await stack.db.query('select pg_terminate_backend($1)', [backend]);
    await release();
    const answer = await second;
    expect([answer.status, isReplay(answer)]).toEqual([201, false]);
    expect(await ordersWith('undone')).toEqual([{ id: answer.body.data.id, status: 'CREATED' }]);
  });

  test('holds the key for no longer than a call may wait, whatever it waited for itself', async () => {
    const { second, release } = await killed('stuck');
    const answer = await second;
    await release();
    expect([409, 503]).toContain(answer.status);
    expect((await create(apis[1]!, 'stuck', 'stuck')).status).toBe(201);
  });
});

describe('a reference and the cancel of its order', () => {
  const CREATES = 20;

  /** Ends an order while many ask for its reference, from before until after its end. */
  async function race(reference: string, id: string, end: (api: Api) => Promise<Answer>) {
    let ended = false;
    const asked = atOnce(CREATES, async (api, index) => {
      // A few wait for each other, so that they spread over the time that the end takes.
      for (let turn = 0; turn < index % 5; turn++) await api.call('GET', '/health/ready');
      const late = ended;
      const answer = await create(api, reference);
      // Seen right behind the answer: what is UNSUCCESSFUL stays so, and what is not never was.
      if (answer.status === 201) expect((await ordersWith(reference))[0]!.status).toBe('UNSUCCESSFUL');
      else if (late) expect(expectProblem(answer, 409, 'duplicate_reference').order_id).not.toBe(id);
      return answer;
    });
    const ending = end(apis[0]!).then((answer) => {
      ended = answer.status === 200 && answer.body.data.status === 'UNSUCCESSFUL';
      return answer;
    });
    return { answers: await asked, answer: await ending };
  }

  test.each([1, 2, 3, 4])(
    'frees it when the order is UNSUCCESSFUL and not before, for one new order, round %i',
    async (round) => {
      const reference = `cancelled ${round}`;
      const id = await openOrder(stack, { reference });
      const { answers, answer } = await race(reference, id, (api) => api.cancel(id));
      expect(answer.status).toBe(200);
      const made = answers.filter(({ status }) => status === 201);
      expect(made.length).toBeLessThanOrEqual(1);
      const next = made[0] ?? (await create(apis[1]!, reference));
      expect(next.status).toBe(201);
      for (const one of answers) {
        if (one.status === 201) continue;
        expect([id, next.body.data.id]).toContain(expectProblem(one, 409, 'duplicate_reference').order_id);
      }
      expect((await ordersWith(reference)).map(({ status }) => status)).toEqual(['UNSUCCESSFUL', 'CREATED']);
    },
  );

  test.each([1, 2])('does not free it where the order was completed first, round %i', async (round) => {
    const reference = `completed ${round}`;
    const id = await openOrder(stack, { reference }, ['signup_started', 'approved']);
    const completed = stack.api.progress(id, 'completed');
    const { answers, answer } = await race(reference, id, (api) => api.cancel(id));
    const won = (await completed).status === 200 ? 'completed' : 'cancelled';
    expect(answer.status).toBe(won === 'completed' ? 409 : 200);
    const made = answers.filter(({ status }) => status === 201).length;
    expect(made).toBeLessThanOrEqual(won === 'completed' ? 0 : 1);
    const [first] = await ordersWith(reference);
    expect(first!.status).toBe(won === 'completed' ? 'SUCCESSFUL' : 'UNSUCCESSFUL');
  });
});
