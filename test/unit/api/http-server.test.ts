import { execFileSync } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import Koa from 'koa';
import { pino } from 'pino';
import { createBodyReaders } from '../../../src/api/input';
import type { State } from '../../../src/api/context';
import { type HttpServer, type HttpSettings, listen } from '../../../src/api/http-server';
import { renderProblems } from '../../../src/api/responses';
import { requestTelemetry } from '../../../src/api/request-telemetry';
import { holdDelays } from '../../support/clock';
import { HTTP } from '../../support/http-settings';
import { until } from '../../support/until';

const lines: Record<string, unknown>[] = [];
const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });

let server: HttpServer;
const clients: Socket[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  release.splice(0).forEach((end) => end());
  await server.close(0);
});

/** Ends the requests to `/held`. */
const release: (() => void)[] = [];
/** Requests whose headers have arrived. */
let begun = 0;

/** Starts a server that reads a JSON body and returns 204, for `/held` later. */
async function startServer(settings: Partial<HttpSettings>): Promise<void> {
  const app = new Koa<State>();
  begun = 0;
  app.on('error', () => undefined);
  app.use((_, next) => {
    begun++;
    return next();
  });
  app.use(requestTelemetry(log)).use(renderProblems());
  app.use((ctx, next) => createBodyReaders(HTTP.maxBodyBytes).jsonBody(ctx as never, next));
  app.use(async (ctx) => {
    if (ctx.path === '/held') await new Promise<void>((resolve) => release.push(resolve));
    ctx.status = 204;
  });
  server = await listen(app, 0, '127.0.0.1', { ...HTTP, ...settings });
}

/** @param allowHalfOpen keeps the client's side of the connection open after the server closed its own */
function open(text: string, allowHalfOpen = false): { socket: Socket; response: () => string } {
  let received = '';
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen });
  // Now, and not once it is connected: what the caller writes follows it.
  socket.write(text);
  clients.push(socket);
  socket.on('data', (data) => (received += data.toString()));
  socket.on('error', () => undefined);
  return { socket, response: () => received };
}

/** Resolves once the socket is closed, with or without an error. */
const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once('close', () => resolve()));

const QUICK = { headersTimeoutMs: 500, requestTimeoutMs: 600 };
const post = (path: string, rest: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${rest}`;

const HELD = post('/held', 'Content-Length: 2\r\n\r\n{}');

describe('a request that takes too long to arrive', () => {
  test('returns 408 if its body is late', async () => {
    await startServer(QUICK);
    const { socket, response } = open(post('/slow', 'Content-Length: 100\r\n\r\n{'));
    await closed(socket);
    expect(response()).toMatch(/^HTTP\/1\.1 408 /);
  });

  test.each([
    ['headers', () => post('/drip', 'X-Slow: ')],
    ['body', () => post('/drip', 'Content-Length: 10000\r\n\r\n{"a":"')],
  ])('loses its connection even if the client keeps sending its %s', async (_, head) => {
    await startServer(QUICK);
    const { socket, response } = open(head(), true);
    const drip = setInterval(() => socket.writable && socket.write('x'), 20);
    await closed(socket);
    clearInterval(drip);
    expect(response()).toMatch(/^(HTTP\/1\.1 408 |$)/);
  });

  test('is logged as 400 if the client disconnects', async () => {
    await startServer({});
    const { socket } = open(post('/hung_up', 'Content-Length: 100\r\n\r\n'));
    await until(() => begun === 1, 'the request has begun');
    socket.destroy();
    const line = await until(() => lines.find((one) => one.path === '/hung_up'), 'the request is logged');
    expect(line).toMatchObject({ status: 400 });
  });
});

test('a connection that sends nothing is closed after the time for headers', async () => {
  await startServer(QUICK);
  const { socket } = open('');
  await closed(socket);
});

test('of 130 requests that arrive at once, 100 are answered, and the last answer says that the connection closes', async () => {
  await startServer({});
  const { socket, response } = open(post('/', 'Content-Length: 2\r\n\r\n{}').repeat(130));
  await closed(socket);
  const answers = response().split(/(?=HTTP\/1\.1 )/);
  expect(answers).toHaveLength(100);
  expect(answers.filter((answer) => answer.startsWith('HTTP/1.1 204 '))).toHaveLength(100);
  expect(answers.map((answer) => /\r\nConnection: close\r\n/.test(answer)).indexOf(true)).toBe(99);
  expect(begun).toBe(100);
});

test('a client that closes its half of the connection gets the answer to the request that runs, and then the connection closes', async () => {
  await startServer({});
  const { socket, response } = open(HELD.repeat(2), true);
  socket.end();
  await until(() => release.length === 1 && socket.writableFinished, 'the first request runs');
  // Once the server has answered what arrived after the end, it has seen the end.
  const later = open(post('/', 'Content-Length: 2\r\nConnection: close\r\n\r\n{}'));
  await closed(later.socket);
  const isClosed = closed(socket);
  release.pop()!();
  await isClosed;
  expect(response().match(/HTTP\/1\.1 204 /g)).toHaveLength(1);
  // And the later one.
  expect(begun).toBe(2);
});

describe('closing the server', () => {
  /** Starts a server whose responses wait until `finish` is called. */
  async function startWaiting(): Promise<{ haveStarted: (requests: number) => Promise<unknown>; finish: () => void }> {
    const app = new Koa();
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    let started = 0;
    app.use(async (ctx) => {
      started++;
      await finished;
      ctx.status = 204;
    });
    server = await listen(app, 0, '127.0.0.1', HTTP);
    return { haveStarted: (requests) => until(() => started === requests, `${requests} requests run`), finish };
  }

  test('ends a kept-alive connection after its running request, without waiting for the grace period', async () => {
    const { haveStarted, finish } = await startWaiting();
    const { socket, response } = open('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const isClosed = closed(socket);
    await haveStarted(1);
    // Longer than the test may take.
    const closing = server.close(3_600_000);
    finish();
    await Promise.all([closing, isClosed]);
    expect(response()).toMatch(/^HTTP\/1\.1 204 /);
  });

  test('serves requests, on new connections too, until the delay has passed', async () => {
    const { finish } = await startWaiting();
    finish();
    const { socket: earlier, response: responses } = open('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => responses().includes(' 204 '), 'the first response arrives');
    const delay = holdDelays(2000);
    const closing = server.close(3_600_000, 2000);
    const { socket, response } = open('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await closed(socket);
    expect(response()).toMatch(/^HTTP\/1\.1 204 [^]*Connection: close/);
    earlier.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await closed(earlier);
    expect(responses()).toMatch(/ 204 [^]* 204 [^]*Connection: close/);
    delay.release();
    await closing;
    await expect(fetch(`http://127.0.0.1:${server.port}`)).rejects.toThrow();
  });

  test.each([
    ['has sent nothing', ''],
    ['has sent half of its headers', 'GET / HTTP/1.1\r\nHost: x\r\n'],
    ['has sent half of a body', post('/slow', 'Content-Length: 100\r\n\r\n{')],
  ])('does not wait for a client that %s', async (_, text) => {
    await startServer({});
    // Accepted by the server, as the answer to a later connection shows.
    const { socket } = open(text);
    const { response } = open(post('/', 'Content-Length: 2\r\n\r\n{}'));
    await until(() => response().includes(' 204 '), 'another client has a response');
    await Promise.all([closed(socket), server.close(3_600_000)]);
  });

  test('cuts a running request after the grace period', async () => {
    const { haveStarted } = await startWaiting();
    const { socket, response } = open('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const isClosed = closed(socket);
    await haveStarted(1);
    await server.close(100);
    await isClosed;
    expect(response()).toBe('');
  });
});

describe('requests that arrive before the responses to earlier ones', () => {
  test('begin one at a time, and are answered in order', async () => {
    await startServer({});
    const { response } = open(HELD.repeat(20));
    for (let count = 1; count <= 20; count++) {
      await until(() => release.length === 1, 'one request runs');
      expect([begun, response().match(/ 204 /g)?.length ?? 0]).toEqual([count, count - 1]);
      release.pop()!();
      await until(() => response().match(/ 204 /g)?.length === count, 'it has a response');
    }
  });

  test('do not begin once the client has gone', async () => {
    await startServer({});
    const { socket } = open(HELD.repeat(20));
    await until(() => release.length === 1, 'one request runs');
    socket.destroy();
    // The server handles the request of another client after the end of that connection.
    const served = async (): Promise<void> => {
      const { response } = open(post('/', 'Content-Length: 2\r\n\r\n{}'));
      await until(() => response().includes(' 204 '), 'another client has a response');
    };
    await served();
    release.pop()!();
    await served();
    expect(begun).toBe(3);
  });
});

test('further connections are refused once as many are open as may be, and running requests are not disturbed', async () => {
  await startServer({ maxConnections: 2 });
  const first = open(HELD);
  await until(() => release.length === 1, 'the first request runs');
  const second = open(HELD);
  await until(() => release.length === 2, 'both requests run');
  const ask = async (): Promise<string> => {
    const { socket, response } = open(post('/', 'Connection: close\r\nContent-Length: 2\r\n\r\n{}'));
    await closed(socket);
    return response();
  };
  expect(await ask()).toBe('');
  // Of a client that only closes its side, the running request has to end first.
  first.socket.resetAndDestroy();
  await until(async () => (await ask()).startsWith('HTTP/1.1 204 '), 'a closed connection makes room');
  release.splice(0).forEach((end) => end());
  await until(() => second.response().includes(' 204 '), 'the running request is not disturbed');
});

test('1,000 callers can connect at once while the process is busy', async () => {
  await startServer({});
  // The parent waits for this program, so it accepts nothing meanwhile.
  const connectAll = `
    const { connect } = require('node:net');
    let connected = 0;
    const count = () => ++connected === 1000 && process.exit();
    for (let i = 0; i < 1000; i++) connect(${server.port}, '127.0.0.1', count).on('error', () => process.exit(1));`;
  // Others would wait until the parent accepts the first ones.
  expect(() => execFileSync(process.execPath, ['-e', connectAll], { timeout: 60_000 })).not.toThrow();
});

test('a client that does not read its response loses its connection', async () => {
  const app = new Koa();
  const connection = new Promise<Socket>((resolve) => {
    app.use((ctx) => {
      ctx.body = 'x'.repeat(20_000_000);
      resolve(ctx.socket);
    });
  });
  server = await listen(app, 0, '127.0.0.1', { ...HTTP, stallTimeoutMs: 1000 });
  open('GET / HTTP/1.1\r\nHost: x\r\n\r\n').socket.pause();
  const socket = await connection;
  await closed(socket);
  expect(socket.bytesRead).toBeGreaterThan(0);
});
