import { connect, type Socket } from 'node:net';
import Koa from 'koa';
import { pino } from 'pino';
import { createBodyReaders } from '../../../src/api/body';
import type { State } from '../../../src/api/context';
import { type HttpServer, type HttpSettings, listen } from '../../../src/api/http-server';
import { renderProblems } from '../../../src/api/problems';
import { requestLog } from '../../../src/api/request-log';
import { HTTP } from '../../support/http-settings';
import { until } from '../../support/until';

const lines: Record<string, unknown>[] = [];
const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });

let server: HttpServer;
const clients: Socket[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await server.close(0);
});

/** A server that reads bodies and answers 204, with limits that a test can wait for. */
async function startServer(settings: Partial<HttpSettings>): Promise<void> {
  const app = new Koa<State>();
  app.on('error', () => undefined);
  app.use(requestLog(log)).use(renderProblems());
  app.use((ctx, next) => createBodyReaders(HTTP.maxBodyBytes).jsonBody(ctx as never, next));
  app.use((ctx) => void (ctx.status = 204));
  server = await listen(app, 0, '127.0.0.1', { ...HTTP, ...settings });
}

/** @param allowHalfOpen keeps its end of the connection open whatever the server does with its own */
function open(text: string, allowHalfOpen = false): { socket: Socket; answer: () => string } {
  let answer = '';
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen }, () => socket.write(text));
  clients.push(socket);
  socket.on('data', (data) => (answer += data.toString()));
  socket.on('error', () => undefined);
  return { socket, answer: () => answer };
}

/** An error before, of a write that came too late, is none of the caller's concern. */
const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once('close', () => resolve()));

const QUICK = { headersTimeoutMs: 200, requestTimeoutMs: 300 };
const post = (path: string, rest: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${rest}`;

describe('a request that takes too long to arrive', () => {
  test.each(['identity', 'gzip'])(
    'is answered 408 while its body comes, and logged as that; encoding %s',
    async (encoding) => {
      await startServer(QUICK);
      const path = `/slow-${encoding}`;
      const { socket, answer } = open(post(path, `Content-Encoding: ${encoding}\r\nContent-Length: 100\r\n\r\n{`));
      await closed(socket);
      expect(answer()).toMatch(/^HTTP\/1\.1 408 .*"code":"request_timeout"/s);
      const line = await until(() => lines.find((one) => one.path === path), 'it is logged', 5000);
      expect(line).toMatchObject({ status: 408, msg: 'request' });
    },
  );

  test.each([
    ['headers', () => post('/drip', 'X-Slow: ')],
    ['body', () => post('/drip', 'Content-Length: 10000\r\n\r\n{"a":"')],
  ])('loses its connection though it goes on with its %s', async (_, head) => {
    await startServer(QUICK);
    const { socket, answer } = open(head(), true);
    const drip = setInterval(() => socket.writable && socket.write('x'), 20);
    await closed(socket);
    clearInterval(drip);
    expect(answer()).toMatch(/^HTTP\/1\.1 408 /);
  });

  test.each(['identity', 'gzip', 'br'])(
    'is no 408 where the caller hung up, and is over then; encoding %s',
    async (encoding) => {
      await startServer({});
      const path = `/hung-up-${encoding}`;
      const { socket } = open(post(path, `Content-Encoding: ${encoding}\r\nContent-Length: 100\r\n\r\n`));
      await until(() => socket.bytesWritten > 0, 'it is sent');
      setTimeout(() => socket.destroy(), 100);
      const line = await until(() => lines.find((one) => one.path === path), 'it is logged', 5000);
      expect(line).toMatchObject({ status: 400 });
    },
  );
});

test.each([
  ['does not come', ''],
  ['turns out to be no HTTP', 'zz\r\n'],
])('a request that was answered before its body is not answered again where that %s', async (_, rest) => {
  await startServer({ headersTimeoutMs: 200, requestTimeoutMs: 300 });
  const { socket, answer } = open(
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n',
  );
  await until(() => answer().includes('unsupported_media_type'), 'it is answered');
  socket.write(rest);
  await closed(socket);
  expect(answer().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 415']);
});

test('connections beyond the limit are refused, those within it served, and room is made again', async () => {
  await startServer({ maxConnections: 2 });
  const request = (header: string) => post('/', `${header}Content-Length: 2\r\n\r\n{}`);
  const [first, second] = [open(request('')), open(request(''))];
  for (const { answer } of [first, second]) await until(() => /^HTTP\/1\.1 204 /.test(answer()), 'it is served');
  const ask = async (): Promise<string> => {
    const { socket, answer } = open(request('Connection: close\r\n'));
    await closed(socket);
    return answer();
  };
  expect(await ask()).toBe('');
  first.socket.destroy();
  await until(async () => (await ask()).startsWith('HTTP/1.1 204 '), 'there is room again');
});
