import { type Caller, createCaller } from '../../chaos/caller';
import { createLedger } from '../../chaos/ledger';
import { startTestServer, type TestServer } from '../../support/listening-server';

const ledger = createLedger();
const statuses: number[] = [];
let server: TestServer;
let caller: Caller;

beforeAll(async () => {
  server = await startTestServer((_request, response) => response.writeHead(statuses.shift() ?? 200).end());
  caller = createCaller([server.url], ledger);
});

afterAll(async () => {
  await caller.close();
  await server.close();
});

const read = () => caller.call({ method: 'GET', path: '/order/1/', key: 'key' }, [200]);

test('a call that begins after the deadline is repeated, and its first try counts as failed', async () => {
  caller.giveUpAt(0);
  statuses.push(503);
  expect(await read()).toMatchObject({ status: 200 });
  await read();
  expect(ledger.firstTries.map(({ isSuccess }) => isSuccess)).toEqual([false, true]);
  expect(ledger.complaints).toEqual([]);
});

test.each([502, 504])('%d is a complaint', async (status) => {
  statuses.push(status);
  expect(await read()).toBeUndefined();
  expect(ledger.complaints.at(-1)).toBe(`GET /order/1/ was answered ${status} undefined`);
});
