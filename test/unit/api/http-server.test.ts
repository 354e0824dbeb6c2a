import { execFileSync } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import Koa from 'koa';
import { pino } from 'pino';
import { createBodyReaders } from '../../../src/api/body';
import type { State } from '../../../src/api/context';
import { delayAnswer } from '../../../src/api/guard-connections';
import { type HttpServer, type HttpSettings, listen } from '../../../src/api/http-server';
import { renderProblems } from '../../../src/api/problems';
import { requestLog } from '../../../src/api/request-log';
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

/** Starts a server that reads a JSON body and returns 204, for `/held` and `/delayed` later. */
async function startServer(settings: Partial<HttpSettings>): Promise<void> {
  const app = new Koa<State>();
  begun = 0;
  app.on('error', () => undefined);
  app.use((_, next) => {
    begun++;
    return next();
  });
  app.use(requestLog(log)).use(renderProblems());
  app.use((ctx, next) => createBodyReaders(HTTP.maxBodyBytes).jsonBody(ctx as never, next));
  app.use(async (ctx) => {
    if (ctx.path === '/held') await new Promise<void>((resolve) => release.push(resolve));
    if (ctx.path === '/delayed') await delayAnswer(ctx);
    ctx.status = 204;
  });
  server = await listen(app, 0, '127.0.0.1', { ...HTTP, ...settings });
}

/** @param allowHalfOpen keeps the client's side of the connection open after the server closed its own */
function open(text: string, allowHalfOpen = false): { socket: Socket; response: () => string } {
  let received = '';
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen }, () => socket.write(text));
  clients.push(socket);
  socket.on('data', (data) => (received += data.toString()));
  socket.on('error', () => undefined);
  return { socket, response: () => received };
}

/** Resolves once the socket is closed, with or without an error. */
const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once('close', () => resolve()));

function blockProcess(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const QUICK = { headersTimeoutMs: 500, requestTimeoutMs: 600 };
const post = (path: string, rest: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${rest}`;

const REQUEST = post('/', 'Content-Length: 2\r\n\r\n{}');

describe('a request that takes too long to arrive', () => {
  test('returns 408 if its body is late, and the log line reports it', async () => {
    await startServer(QUICK);
    const { socket, response } = open(post('/slow', 'Content-Length: 100\r\n\r\n{'));
    await closed(socket);
    expect(response()).toMatch(/^HTTP\/1\.1 408 .*"code":"request_timeout"/s);
    const line = await until(() => lines.find((one) => one.path === '/slow'), 'the request is logged');
    expect(line).toMatchObject({ status: 408, msg: 'request' });
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
    expect(response()).toMatch(/^HTTP\/1\.1 408 /);
  });

  test.each([
    ['body', 'Content-Length: 2\r\n\r\n', '{}'],
    ['headers', 'Content-Length: 2\r\n', '\r\n{}'],
  ])('is served if only this process was late to read its %s', async (_, start, rest) => {
    // Long enough for the steps before the pause.
    await startServer({ headersTimeoutMs: 3000, requestTimeoutMs: 3000 });
    const { socket, response } = open(post('/paused', start));
    await until(() => socket.bytesWritten > 0, 'the first part is sent');
    await sleep(50);
    socket.write(rest);
    blockProcess(3500);
    await until(() => response() !== '', 'the response arrives');
    expect(response()).toMatch(/^HTTP\/1\.1 204 /);
  });

  test('is logged as 400, not 408, if the client disconnects', async () => {
    await startServer({});
    const { socket } = open(post('/hung_up', 'Content-Length: 100\r\n\r\n'));
    await until(() => begun === 1, 'the request has begun');
    socket.destroy();
    const line = await until(() => lines.find((one) => one.path === '/hung_up'), 'the request is logged');
    expect(line).toMatchObject({ status: 400 });
  });
});

test.each([
  ['never arrives', ''],
  ['is not valid HTTP', 'zz\r\n'],
])('a request that was answered before its body gets no second response if the body %s', async (_, rest) => {
  await startServer(QUICK);
  const { socket, response } = open(
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n',
  );
  await until(() => response().includes('unsupported_media_type'), 'the response arrives');
  socket.write(rest);
  await closed(socket);
  expect(response().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 415']);
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

  test('adds Connection: close to the response to a later request on an open connection', async () => {
    const { haveStarted, finish } = await startWaiting();
    const { socket, response } = open('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const isClosed = closed(socket);
    await haveStarted(1);
    const closing = server.close(3_600_000);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await haveStarted(2);
    finish();
    await Promise.all([closing, isClosed]);
    expect(response()).toContain('Connection: close');
  });

  test('serves requests, on new connections too, until the delay has passed', async () => {
    const { finish } = await startWaiting();
    finish();
    const delay = holdDelays(2000);
    const closing = server.close(3_600_000, 2000);
    const { socket, response } = open('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await closed(socket);
    expect(response()).toMatch(/^HTTP\/1\.1 204 [^]*Connection: close/);
    delay.release();
    await closing;
    await expect(fetch(`http://127.0.0.1:${server.port}`)).rejects.toThrow();
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

const HELD = post('/held', 'Content-Length: 2\r\n\r\n{}');

test('a connection that sends 1,000 requests with an unknown Expect header is closed', async () => {
  await startServer({});
  const { socket, response } = open('GET / HTTP/1.1\r\nHost: x\r\nExpect: x\r\n\r\n'.repeat(1000));
  await closed(socket);
  expect(response().match(/ 400 /g)?.length ?? 0).toBeLessThanOrEqual(20);
});

test('the requests on a connection after one that closes it are not parsed', async () => {
  let parsed = 0;
  const handle = (): void => undefined;
  server = await listen({ callback: () => handle } as never, 0, '127.0.0.1', HTTP);
  const onRequest = (): void => {
    parsed++;
  };
  subscribe('http.server.request.start', onRequest);
  const { socket } = open('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2000));
  await closed(socket);
  unsubscribe('http.server.request.start', onRequest);
  expect(parsed).toBe(21);
});

test('a connection may send 20 requests before their responses, and is closed with more', async () => {
  await startServer({});
  const { socket: fine, response } = open(HELD.repeat(20));
  await until(() => release.length === 20, 'every request runs');
  release.splice(0).forEach((end) => end());
  await until(() => response().match(/ 204 /g)?.length === 20, 'every request has a response');
  fine.write(HELD.repeat(20));
  await until(() => release.length === 20, 'the finished ones no longer count');
  const { socket } = open(HELD.repeat(1000));
  await closed(socket);
  expect(release).toHaveLength(40);
  expect(fine.destroyed).toBe(false);
});

describe('the number of connections', () => {
  /** Opens a connection, and completes a request on it if `text` is one. */
  const connected = async (text = ''): Promise<ReturnType<typeof open>> => {
    const client = open(text);
    await new Promise((resolve) => client.socket.once('connect', resolve));
    return client;
  };

  test('of one address is limited to a tenth of all: a new one closes the longest idle of the address', async () => {
    await startServer({ maxConnections: 30 });
    const silent = await Promise.all(Array.from({ length: 3 }, () => connected()));
    const { response } = await connected(REQUEST);
    await until(() => response().includes(' 204 '), 'the new client has a response');
    await until(() => silent[0]!.socket.destroyed, 'the longest idle connection is closed');
    expect(silent.filter(({ socket }) => socket.destroyed)).toHaveLength(1);
  });

  test('of one address stays at its limit, because a request that does not arrive is cut off', async () => {
    await startServer({ maxConnections: 20 });
    const slow = await connected(post('/', 'Content-Length: 9\r\n\r\n{'));
    const running = await connected(HELD);
    await until(() => release.length === 1 && begun === 2, 'both requests have begun');
    const { response } = await connected(REQUEST);
    await until(() => response().includes(' 204 '), 'the new client has a response');
    expect([slow.socket.destroyed, running.socket.destroyed]).toEqual([true, false]);
  });

  test('of one address cannot exceed its limit while each has a running request', async () => {
    await startServer({ maxConnections: 30 });
    const running = await Promise.all(Array.from({ length: 3 }, () => connected(HELD)));
    await until(() => release.length === 3, 'every request runs');
    const refused = await connected(REQUEST);
    await closed(refused.socket);
    expect(refused.response()).toBe('');
    release.splice(0).forEach((end) => end());
    await until(() => running.every(({ response }) => response().includes(' 204 ')), 'they are not disturbed');
    const { response } = await connected(REQUEST);
    await until(() => response().includes(' 204 '), 'a connection that is idle again makes room');
  });

  test('of one address has no limit of its own behind a proxy', async () => {
    await startServer({ maxConnections: 30, isBehindProxy: true });
    const clients = await Promise.all(Array.from({ length: 25 }, () => connected(REQUEST)));
    await until(() => clients.every(({ response }) => response().includes(' 204 ')), 'every client has a response');
  });

  test('cannot exceed the limit while every connection has a running request', async () => {
    await startServer({ maxConnections: 2, isBehindProxy: true });
    const first = await connected(HELD);
    await until(() => release.length === 1, 'the first request runs');
    const second = await connected(HELD);
    await until(() => release.length === 2, 'both requests run');
    const ask = async (): Promise<string> => {
      const { socket, response } = open(REQUEST.replace('Host: x', 'Host: x\r\nConnection: close'));
      await closed(socket);
      return response();
    };
    expect(await ask()).toBe('');
    first.socket.destroy();
    await until(async () => (await ask()).startsWith('HTTP/1.1 204 '), 'a closed connection makes room');
    release.splice(0).forEach((end) => end());
    await until(() => second.response().includes(' 204 '), 'the running request is not disturbed');
  });

  test('stays below the limit, because requests that do not arrive are cut off', async () => {
    await startServer({ maxConnections: 20, isBehindProxy: true });
    const slow: ReturnType<typeof open>[] = [];
    while (slow.length < 18) {
      slow.push(await connected(post('/', 'Content-Length: 9\r\n\r\n{')));
      await until(() => begun === slow.length, 'the request has begun');
    }
    const { response } = await connected(REQUEST);
    await until(() => response().includes(' 204 '), 'a new client has a response');
    expect(slow.map(({ socket }) => socket.destroyed).indexOf(true)).toBe(0);
    expect(slow.filter(({ socket }) => socket.destroyed)).toHaveLength(1);
  });

  test('stays below the limit, because those of delayed answers are closed first', async () => {
    await startServer({ maxConnections: 20, isBehindProxy: true });
    const running = await Promise.all(Array.from({ length: 16 }, () => connected(HELD)));
    await until(() => release.length === 16, 'every request runs');
    const silent = await connected();
    const answers = holdDelays(1000);
    const refused = await connected(post('/delayed', 'Content-Length: 2\r\n\r\n{}'));
    await until(() => answers.count() === 1, 'the delay has begun');
    const { response } = await connected(REQUEST);
    await until(() => response().includes(' 204 '), 'a new client has a response');
    await until(() => refused.socket.destroyed, 'the connection of the delayed answer is closed');
    answers.release();
    expect(refused.response()).toBe('');
    expect([silent, ...running].filter(({ socket }) => socket.destroyed)).toEqual([]);
  });

  test('stays below the limit, because silent connections are closed first', async () => {
    await startServer({ maxConnections: 20, isBehindProxy: true });
    const silent = await Promise.all(Array.from({ length: 18 }, () => connected()));
    const { response } = await connected(REQUEST);
    await until(() => response().includes(' 204 '), 'a new client has a response');
    await until(() => silent[0]!.socket.destroyed, 'the longest idle connection is closed');
    expect(silent.filter(({ socket }) => socket.destroyed)).toHaveLength(1);
  });
});

test('a request with more than 200 headers returns 431', async () => {
  await startServer({ maxHeaderBytes: 1_000_000 });
  const get = async (headers: number) => {
    const { response } = open(`GET / HTTP/1.1\r\nHost: x\r\n${'a: b\r\n'.repeat(headers)}\r\n`);
    await until(() => response() !== '', 'a response');
    return response();
  };
  expect(await get(199)).toMatch(/^HTTP\/1\.1 415 /);
  for (const headers of [200, 2500])
    expect(await get(headers)).toMatch(/^HTTP\/1\.1 431 .*"code":"headers_too_large"/s);
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
