import { connect, type Socket } from 'node:net';
import Koa from 'koa';
import type { Context, State } from '../../../src/api/context';
import { type HttpServer, listen } from '../../../src/api/http-server';
import { renderProblems } from '../../../src/api/problems';
import { requestLog } from '../../../src/api/request-log';
import { createUnsentLimit, type UnsentLimits } from '../../../src/api/unsent-bytes';
import { HTTP } from '../../support/http-settings';
import { log } from '../../support/stack';
import { until } from '../../support/until';

/** Larger than what the system buffers for a connection on loopback. */
const RESPONSE_BYTES = 20_000_000;

let server: HttpServer;
/** Responses that are written, as far as their connections take them, and measured. */
let measured = 0;
const clients: Socket[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await server.close(0);
});

/** Starts a server that sends each caller, the seller or the address that the path names, a large response. */
async function startServer(limits: UnsentLimits): Promise<void> {
  const app = new Koa<State>();
  app.on('error', () => undefined);
  const unsent = createUnsentLimit(limits);
  app.use(async (_, next) => {
    await next();
    setImmediate(() => measured++);
  });
  app.use(requestLog(log)).use((ctx, next) => unsent.measure(ctx as unknown as Context, next));
  app.use(renderProblems());
  app.use((ctx, next) => {
    const name = ctx.path.slice(1);
    if (/\d/.test(name)) ctx.request.ip = name;
    else ctx.state.caller = { kind: 'seller', seller: { id: name } } as State['caller'] & object;
    return unsent.check(ctx, next);
  });
  app.use((ctx) => void (ctx.body = 'x'.repeat(RESPONSE_BYTES)));
  server = await listen(app, 0, '127.0.0.1', HTTP);
}

/** Sends requests on one connection and does not read the responses. */
async function leaveUnread(caller: string, requests = 1): Promise<Socket> {
  const socket = connect({ port: server.port, host: '127.0.0.1' });
  clients.push(socket);
  socket.on('error', () => undefined);
  socket.pause();
  const before = measured;
  socket.write(`GET /${caller} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(requests));
  await until(() => measured === before + requests, 'the responses are written');
  return socket;
}

/** Reads what arrives on a socket until it has `bytes`, or is closed. */
async function read(socket: Socket, bytes: number): Promise<number> {
  let received = 0;
  socket.on('data', (data) => (received += data.length));
  socket.resume();
  await until(() => received >= bytes || socket.destroyed, 'the response has arrived or the connection is closed');
  return received;
}

const statusFor = async (caller: string): Promise<number> => {
  const response = await fetch(`http://127.0.0.1:${server.port}/${caller}`);
  await response.arrayBuffer();
  return response.status;
};

test.each(['a', '10.0.0.1'])('caller %s with too many unread bytes gets a 429 until they are read', async (caller) => {
  await startServer({ perCaller: 1_000_000, perProcess: 1_000_000_000 });
  const unread = await leaveUnread(caller);
  expect(await statusFor(caller)).toBe(429);
  expect(await statusFor('b')).toBe(200);
  expect(await read(unread, RESPONSE_BYTES)).toBeGreaterThan(RESPONSE_BYTES);
  await until(async () => (await statusFor(caller)) === 200, 'the caller is served again');
});

test('a caller whose connection with several unread responses is gone is served again', async () => {
  await startServer({ perCaller: 1_000_000, perProcess: 1_000_000_000 });
  const unread = await leaveUnread('a', 3);
  expect(await statusFor('a')).toBe(429);
  unread.destroy();
  await until(async () => (await statusFor('a')) === 200, 'the caller is served again');
});

test('over the limit of the process, the oldest connection of the caller with most unread bytes is closed', async () => {
  await startServer({ perCaller: 1_000_000_000, perProcess: 3.5 * RESPONSE_BYTES });
  const slow = await leaveUnread('b');
  const oldest = await leaveUnread('10.0.0.1');
  const newer = await leaveUnread('10.0.0.1');
  const newest = await leaveUnread('10.0.0.1');
  expect(await read(oldest, RESPONSE_BYTES)).toBeLessThan(RESPONSE_BYTES);
  for (const other of [slow, newer, newest]) expect(await read(other, RESPONSE_BYTES)).toBeGreaterThan(RESPONSE_BYTES);
});
