import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import Koa from 'koa';
import { type HttpServer, listen } from '../../../src/api/http-server';
import { HTTP } from '../../support/http-settings';

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
