import type { IncomingMessage } from 'node:http';
import { createClient } from '../../../packages/client/src/client';
import { ConnectionError } from '../../../packages/client/src/client-errors';
import { createTransport } from '../../../packages/client/src/transport';
import { ownClock } from '../../support/clock';
import { type TestServer, startTestServer } from '../../support/listening-server';

/** The responses to the next requests; a function is called instead of a response. */
let replies: (
  [status: number, headers: Record<string, string>, body?: object] | ((request: IncomingMessage) => void)
)[];
let requests: number;
let server: TestServer;
beforeEach(async () => {
  replies = [];
  requests = 0;
  server = await startTestServer((request, response) => {
    requests += 1;
    const reply = replies.shift() ?? [200, {}, { data: 'done' }];
    if (typeof reply === 'function') {
      reply(request);
      return;
    }
    const [status, headers, body = {}] = reply;
    response.writeHead(status, headers).end(JSON.stringify(body));
  });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await server.close();
});

const TIMEOUT_MS = 5500;

function call(maxRetries = 3): Promise<unknown> {
  return createTransport(server.url, 'sk_1', TIMEOUT_MS, maxRetries)('GET', '/');
}

const problem = (code: string) => ({ code, request_id: '1', detail: 'x' });

test.each([
  ['120', 120_000],
  ['1e3', undefined],
  ['Infinity', undefined],
  ['1.5', undefined],
  ['2050-01-01', undefined],
])('a Retry-After of %s is a requested delay of %p ms', async (value, expected) => {
  replies = [[503, { 'Retry-After': value }]];
  await expect(call(0)).rejects.toMatchObject({ status: 503, retryAfterMs: expected });
});

test('a call is repeated after as long as Retry-After requires', async () => {
  const { delays } = ownClock();
  replies = [
    [429, { 'Retry-After': '1' }, problem('rate_limited')],
    [503, { 'Retry-After': '2' }],
  ];
  expect(await call()).toMatchObject({ body: { data: 'done' } });
  expect(delays).toEqual([1000, 2000]);
});

test('a call is repeated at the date that Retry-After has', async () => {
  const { delays } = ownClock();
  jest.spyOn(Date, 'now').mockReturnValue(Date.parse('2027-01-15T12:00:00Z'));
  replies = [[503, { 'Retry-After': 'Fri, 15 Jan 2027 12:00:05 GMT' }]];
  await call();
  expect(delays).toEqual([5000]);
});

test.each([
  [429, 'rate_limited'],
  [503, 'overloaded'],
])('a %i %s with a long Retry-After throws immediately, with the requested delay', async (status, code) => {
  const { delays } = ownClock();
  replies = [[status, { 'Retry-After': '60' }, problem(code)]];
  await expect(call()).rejects.toMatchObject({ status, code, retryAfterMs: 60_000 });
  expect([delays, requests]).toEqual([[], 1]);
});

test('no retry of a call without a response begins later than 10 s after the call', async () => {
  const clock = ownClock();
  const timeout = jest.spyOn(AbortSignal, 'timeout');
  const end = new DOMException('', 'TimeoutError');
  replies = Array.from({ length: 4 }, () => () => {
    clock.pass(TIMEOUT_MS);
    attempts.at(-1)!.abort(end);
  });
  const attempts: AbortController[] = [];
  timeout.mockImplementation(() => {
    const attempt = new AbortController();
    attempts.push(attempt);
    return attempt.signal;
  });
  await expect(call()).rejects.toThrow(`within ${TIMEOUT_MS} ms`);
  expect([requests, clock.delays.length]).toEqual([2, 1]);
  expect(timeout.mock.calls).toEqual([[TIMEOUT_MS], [TIMEOUT_MS]]);
});

test('the waits for all retries of a call together take at most 10 s', async () => {
  const { delays } = ownClock();
  const refusal = (seconds: string) => [429, { 'Retry-After': seconds }, problem('rate_limited')] as const;
  replies = [[...refusal('3')], [...refusal('8')]];
  await expect(call()).rejects.toMatchObject({ retryAfterMs: 8000 });
  expect([delays, requests]).toEqual([[3000], 2]);
});

test('a resend of many whose response is lost is not repeated, because the service would refuse the second one', async () => {
  replies = [(request) => request.socket.destroy(), [409, {}, problem('resend_in_progress')]];
  const client = createClient({ baseUrl: server.url, sellerId: 's', apiKey: 'sk_1' });
  await expect(client.resendWebhooks({ state: 'exhausted' })).rejects.toThrow(ConnectionError);
  expect(requests).toBe(1);
});
