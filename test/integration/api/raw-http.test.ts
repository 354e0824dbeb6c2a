import { connect } from 'node:net';
import { BASE } from '../../support/api';
import { parseRaw, sendRaw } from '../../support/raw-http';
import { expectProblem } from '../../support/problems';
import { useSharedStack } from '../../support/shared-stack';
import { until } from '../../support/until';

const stack = useSharedStack();

const send = async (...chunks: string[]) => parseRaw(await sendRaw(stack.api.url, ...chunks));

const post = (headers: string, body: string) => {
  const { seller } = stack;
  return (
    `POST ${BASE}/seller/${seller.id}/order/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${seller.key}\r\n` +
    `Connection: close\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}`
  );
};
const order = (reference: string) => JSON.stringify({ data: { amount: 1, reference } });
const references = async () =>
  (await stack.db.query('select reference from orders where seller_id = $1', [stack.seller.id])).rows.map(
    (row) => row.reference,
  );

test.each([
  ['text that is not HTTP', 'hello\r\n\r\n'],
  ['an unknown method', 'FETCH / HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a whole URL with an invalid host', 'GET http://a[b/x HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['no Host', 'GET /health/live HTTP/1.1\r\n\r\n'],
])('%s returns 400 and closes the connection', async (_, request) => {
  expect(await sendRaw(stack.api.url, request)).toMatch(/^HTTP\/1\.1 400 [^]*\r\nConnection: close\r\n/);
});

test('a target may be a whole URL', async () => {
  const headers = 'Host: x\r\nConnection: close\r\n\r\n';
  expect((await send(`GET http://x/health/live?a=b HTTP/1.1\r\n${headers}`)).status).toBe(200);
  expectProblem(await send(`GET HTTP://x/none HTTP/1.1\r\n${headers}`), 404, 'not_found');
});

test('dot segments in a whole URL are not resolved, because a proxy that refuses /health/ does not resolve them', async () => {
  for (const path of ['/a/../health/live', '/./health/live', '/%2e/health/live']) {
    const request = `GET http://x${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    expectProblem(await send(request), 404, 'not_found');
  }
});

test('headers that are too large return 431', async () => {
  const many = Array.from({ length: 2000 }, (_, index) => `X-${index}: value\r\n`).join('');
  for (const text of [
    `GET / HTTP/1.1\r\nX-Large: ${'x'.repeat(17_000)}\r\n`,
    `GET / HTTP/1.1\r\n${many}`,
    `GET /${'x'.repeat(17_000)} HTTP/1.1\r\n`,
  ])
    expect(await sendRaw(stack.api.url, `${text}Host: x\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /);
});

test('a client that disconnects before its body is complete creates no order', async () => {
  const { hostname, port } = new URL(stack.api.url);
  const socket = connect(Number(port), hostname);
  await new Promise((sent) => socket.write(post('Content-Length: 5000', order('short')), sent));
  socket.destroy();
  // The server handles this call after the disconnect.
  expect((await stack.api.create()).status).toBe(201);
  expect(await references()).not.toContain('short');
});

/** Sends a request and closes the sending half of the connection. */
function sendAndEnd(request: string): Promise<string> {
  const { hostname, port } = new URL(stack.api.url);
  return new Promise((resolve) => {
    let response = '';
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true }, () => socket.end(request));
    socket.on('data', (data) => (response += data.toString()));
    socket.on('end', () => resolve(response));
  });
}

test('a client that closes its half of the connection after a request gets the answer; a change is not made', async () => {
  const { seller } = stack;
  const check = `GET ${BASE}/seller/${seller.id}/connection_check/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${seller.key}\r\n\r\n`;
  expect(await sendAndEnd(check)).toMatch(/^HTTP\/1\.1 200 /);
  // A close that arrives after the call has begun does not end it.
  let closed = 0;
  await until(async () => {
    const reference = `half closed ${++closed}`;
    const body = order(reference);
    const answer = await sendAndEnd(post(`Content-Length: ${body.length}`, body));
    const isMade = answer.startsWith('HTTP/1.1 201 ');
    expect((await references()).includes(reference)).toBe(isMade);
    if (!isMade)
      expect(answer).toMatch(
        /^HTTP\/1\.1 499 [^]*The caller closed its half of the connection before the call began\. Nothing changed\.$/,
      );
    return !isMade;
  }, 'a call is not made, because the close was seen first');
});
