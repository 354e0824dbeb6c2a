import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import Koa from 'koa';
import { type HttpServer, listen } from '../../../src/api/http-server';
import { HTTP } from '../../support/http-settings';
import { openSlowClients } from '../../support/slow-client';
import { useStack } from '../../support/stack';

const SLOW_OF_EACH = 50;
const READS = 20;

describe('slow clients', () => {
  const stack = useStack({ worker: false, env: { HEADERS_TIMEOUT_MS: '600000', REQUEST_TIMEOUT_MS: '600000' } });

  // `npm run timing` measures that other clients are as fast as without them.
  test('do not keep other clients waiting', async () => {
    const { id } = (await stack.api.create()).body.data;
    const { headers, bodies } = openSlowClients(stack, SLOW_OF_EACH);
    const slow = [...headers, ...bodies];
    let ended = 0;
    for (const { end } of slow) void end.then(() => ended++);
    await Promise.all(slow.map(({ socket }) => once(socket, 'connect')));
    const reads = await Promise.all(Array.from({ length: READS }, () => stack.api.get(id)));
    expect([reads.map(({ status }) => status), ended]).toEqual([Array(READS).fill(200), 0]);
    for (const { socket } of slow) socket.destroy();
    await Promise.all(slow.map(({ end }) => end));
    expect((await stack.db.query('select from orders')).rowCount).toBe(1);
  });
});

describe('a client that does not read its responses', () => {
  const RESPONSE = 'x'.repeat(20_000_000);
  let connected: (socket: Socket) => void;
  const connection = new Promise<Socket>((resolve) => (connected = resolve));
  let server: HttpServer;
  let client: Socket;
  beforeAll(async () => {
    const app = new Koa();
    app.use((ctx) => {
      ctx.body = RESPONSE;
      connected(ctx.socket);
    });
    server = await listen(app, 0, '127.0.0.1', { ...HTTP, stallTimeoutMs: 1000 });
    client = connect(server.port, '127.0.0.1').pause();
    client.on('error', () => undefined);
  });
  afterAll(async () => {
    client.destroy();
    await server.close(0);
  });

  test('loses its connection', async () => {
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const socket = await connection;
    await once(socket, 'close');
    expect(socket.bytesRead).toBeGreaterThan(0);
  });
});
