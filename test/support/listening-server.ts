import { type RequestListener, createServer } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';

export interface TestServer {
  port: number;
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  url: string;
  /** Stops the server and destroys its open connections. */
  close(): Promise<void>;
}

/** Starts an HTTP server on a free port of 127.0.0.1. */
export function startTestServer(handler: RequestListener): Promise<TestServer> {
  return listen(createServer(handler));
}

/** Starts any TCP, HTTP or TLS server on a free port of 127.0.0.1. */
export async function listen(server: Server): Promise<TestServer> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Returns a port of 127.0.0.1 that refuses connections. */
export async function closedPort(): Promise<number> {
  const server = await startTestServer(() => undefined);
  await server.close();
  return server.port;
}
