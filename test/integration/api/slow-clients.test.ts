import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import Koa from 'koa';
import { type HttpServer, listen } from '../../../src/api/http-server';
import { HTTP } from '../../support/http-settings';
import { openSlowClients } from '../../support/slow-client';
import { useStack } from '../../support/stack';

const SLOW_OF_EACH = 50;
const READS = 20;
/** Tolerance for a busy machine, in ms. */
const TOLERANCE_MS = 15_000;

describe('slow clients', () => {
  const stack = useStack({ worker: false });

  // `npm run timing` measures that other clients are as fast as without them.
  test('do not keep other clients waiting, and get a 408 at their deadline', async () => {
    const { id } = (await stack.api.create()).body.data;
    const { headers, bodies } = openSlowClients(stack, SLOW_OF_EACH);
    let ended = 0;
    for (const { end } of [...headers, ...bodies]) void end.then(() => ended++);
    const reads = await Promise.all(Array.from({ length: READS }, () => stack.api.get(id)));
    expect([reads.map(({ status }) => status), ended]).toEqual([Array(READS).fill(200), 0]);

    for (const [clients, limitMs] of [
      [headers, HTTP.headersTimeoutMs],
      [bodies, HTTP.requestTimeoutMs],
    ] as const) {
      for (const { text, afterMs } of await Promise.all(clients.map(({ end }) => end))) {
        expect(text).toMatch(/^HTTP\/1\.1 408 .*"code":"request_timeout"/s);
        expect(afterMs).toBeGreaterThan(limitMs * 0.9);
        expect(afterMs).toBeLessThan(limitMs + TOLERANCE_MS);
      }
    }
    expect((await stack.db.query('select from orders')).rowCount).toBe(1);
  }, 120_000);
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
    const begun = performance.now();
    await once(socket, 'close');
    expect(performance.now() - begun).toBeGreaterThan(900);
    expect(socket.bytesRead).toBeGreaterThan(0);
  });
});
