import { once } from 'node:events';
import { connect } from 'node:net';
import { type ApiResponse, type Api, apiOf, BASE } from '../support/api';
import { patientUrl } from '../support/database';
import { openOrder } from '../support/orders';
import { expectProblem } from '../support/problems';
import { type ServiceProcess, killProcesses, startProcess } from '../support/processes';
import { useStack } from '../support/stack';
import { until } from '../support/until';

jest.setTimeout(300_000);

/** Two API processes on one database. */
let servers: ServiceProcess[];
let apis: Api[];
// The processes end before the stack drops their database.
afterAll(async () => {
  for (const server of servers) await server.signal('SIGTERM');
  await killProcesses();
  expect(servers.map((server) => server.exitCode())).toEqual([0, 0]);
});
const stack = useStack();
beforeAll(async () => {
  const started = await Promise.all([startApi(), startApi()]);
  servers = started.map(({ process: server }) => server);
  apis = started.map(({ api }) => api);
});

/** @param databaseUrl its default makes calls wait for locks as long as a test needs */
async function startApi(databaseUrl = patientUrl(stack.databaseUrl)): Promise<{ process: ServiceProcess; api: Api }> {
  const server = await startProcess('server', { ...stack.env, DATABASE_URL: databaseUrl });
  return {
    process: server,
    api: apiOf(`http://127.0.0.1:${server.port}`, stack.seller, stack.api.checkoutKey),
  };
}

const create = (api: Api, reference: string, key?: string): Promise<ApiResponse> =>
  api.create({ reference }, key === undefined ? {} : { headers: { 'Idempotency-Key': key } });
const atOnce = (count: number, call: (api: Api, index: number) => Promise<ApiResponse>): Promise<ApiResponse[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => call(apis[index % 2]!, index)));
/** Repeats a call that got a 503: on a busy machine some calls wait too long for a connection to Postgres. */
const settled = (call: () => Promise<ApiResponse>): Promise<ApiResponse> =>
  until(async () => {
    const response = await call();
    return response.status === 503 ? undefined : response;
  }, 'the call gets another status than 503');
const isReplay = ({ headers }: ApiResponse): boolean => headers.get('Idempotency-Replayed') === 'true';

/** Returns the orders with a reference, oldest first. */
async function ordersWith(reference: string): Promise<{ id: string; status: string }[]> {
  const sql = 'select id, status from orders where reference = $1 order by created_at';
  return (await stack.db.query<{ id: string; status: string }>(sql, [reference])).rows;
}

test('200 concurrent calls with one key to two processes create one order and get the same response', async () => {
  const body = { body: { data: { amount: 10, reference: 'one key' } }, headers: { 'Idempotency-Key': 'one-key' } };
  const responses = await atOnce(200, (api) => settled(() => api.create({}, body)));
  expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(responses[0]!.status).toBe(201);
  expect(responses.filter(isReplay)).toHaveLength(199);
  expect(await ordersWith('one key')).toEqual([{ id: responses[0]!.body.data.id, status: 'CREATED' }]);
});

test.each([
  ['no key', () => undefined],
  ['different keys', (index: number) => `key-${index}`],
])('200 concurrent calls with one reference and %s create one order, and the others get its id', async (how, keyOf) => {
  const responses = await atOnce(200, (api, index) => settled(() => create(api, how, keyOf(index))));
  const [made, ...more] = responses.filter(({ status }) => status === 201);
  expect(more).toEqual([]);
  expect(await ordersWith(how)).toEqual([{ id: made!.body.data.id, status: 'CREATED' }]);
  for (const response of responses) {
    if (response === made) continue;
    expect(expectProblem(response, 409, 'duplicate_reference').order_id).toBe(made!.body.data.id);
  }
  const { rowCount } = await stack.db.query('select from idempotency_key where key like $1', ['key-%']);
  expect(rowCount).toBe(how === 'no key' ? 0 : 1);
});

test('calls that reached a frozen API process change nothing once their callers have given up', async () => {
  const { process: server, api } = await startApi();
  const { id } = (await create(api, 'before the freeze')).body.data;
  await server.signal('SIGSTOP');
  const bodies = Array.from({ length: 10 }, (_, index) =>
    JSON.stringify({ data: { amount: 1, reference: `abandoned ${index}` } }),
  );
  await Promise.all([
    ...bodies.map((body) => abandon(server.port, `POST ${BASE}/seller/${stack.seller.id}/order/`, body)),
    abandon(server.port, `DELETE ${BASE}/order/${id}/`),
  ]);
  await server.signal('SIGCONT');
  await until(() => server.lines.filter((line) => line.includes('"status":499')).length === 11, 'all have ended');
  expect((await api.get(id)).body.data.status).toBe('CREATED');
  expect(await Promise.all(bodies.map((_, index) => ordersWith(`abandoned ${index}`)))).toEqual(Array(10).fill([]));
});

/** Sends a request and closes the connection without waiting for the response. */
async function abandon(port: number, request: string, body = ''): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const headers = [
    `${request} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${stack.seller.key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  await new Promise((sent) => socket.write(`${headers.join('\r\n')}\r\n\r\n${body}`, sent));
  socket.destroy();
  await once(socket, 'close');
}

describe('the reference of an order that is being cancelled', () => {
  const CREATES = 20;

  /** Calls `end` while many create calls use the order's reference, from before the order closes until after. */
  async function race(reference: string, id: string, end: (api: Api) => Promise<ApiResponse>) {
    let ended = false;
    const calls = atOnce(CREATES, async (api, index) => {
      // Some calls start later, so that the calls spread over the time that `end` takes.
      for (let turn = 0; turn < index % 5; turn++) await api.call('GET', '/health/ready');
      const late = ended;
      const response = await settled(() => create(api, reference));
      // UNSUCCESSFUL is final: if the old order has another status now, its reference was freed too early.
      if (response.status === 201) expect((await ordersWith(reference))[0]!.status).toBe('UNSUCCESSFUL');
      else if (late) expect(expectProblem(response, 409, 'duplicate_reference').order_id).not.toBe(id);
      return response;
    });
    const ending = end(apis[0]!).then((response) => {
      ended = response.status === 200 && response.body.data.status === 'UNSUCCESSFUL';
      return response;
    });
    return { responses: await calls, response: await ending };
  }

  test.each([1, 2, 3, 4])(
    'can be used by one new order once the order is UNSUCCESSFUL and not before (round %i)',
    async (round) => {
      const reference = `cancelled ${round}`;
      const id = await openOrder(stack, { reference });
      const { responses, response } = await race(reference, id, (api) => settled(() => api.cancel(id)));
      expect(response.status).toBe(200);
      const made = responses.filter(({ status }) => status === 201);
      expect(made.length).toBeLessThanOrEqual(1);
      const next = made[0] ?? (await settled(() => create(apis[1]!, reference)));
      expect(next.status).toBe(201);
      for (const one of responses) {
        if (one.status === 201) continue;
        expect([id, next.body.data.id]).toContain(expectProblem(one, 409, 'duplicate_reference').order_id);
      }
      expect((await ordersWith(reference)).map(({ status }) => status)).toEqual(['UNSUCCESSFUL', 'CREATED']);
    },
  );

  test.each([1, 2])(
    'stays taken if the order completes, and is free if it is cancelled first (round %i)',
    async (round) => {
      const reference = `completed ${round}`;
      const id = await openOrder(stack, { reference }, ['signup_started', 'approved']);
      const completed = settled(() => stack.api.progress(id, 'completed'));
      const { responses, response } = await race(reference, id, (api) => settled(() => api.cancel(id)));
      const won = (await completed).status === 200 ? 'completed' : 'cancelled';
      expect(response.status).toBe(won === 'completed' ? 409 : 200);
      const made = responses.filter(({ status }) => status === 201).length;
      expect(made).toBeLessThanOrEqual(won === 'completed' ? 0 : 1);
      const [first] = await ordersWith(reference);
      expect(first!.status).toBe(won === 'completed' ? 'SUCCESSFUL' : 'UNSUCCESSFUL');
    },
  );
});
