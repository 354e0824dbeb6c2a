import { type Socket, connect, createServer } from 'node:net';
import { listen } from './listening-server';

export interface Proxy {
  address: string;
  /** Drops all data from now on, like a network that loses every packet. Connections stay open. */
  blackHole(): void;
  /** Forwards data of new connections again, and closes the existing connections. */
  restore(): void;
  stop(): void;
}

/** Starts a TCP proxy in front of `address` (host:port). */
export async function startProxy(address: string): Promise<Proxy> {
  const [host = '', port = ''] = address.split(':');
  const sockets = new Set<Socket>();
  let forwards = true;
  const server = await listen(
    createServer((near) => {
      const far = connect(Number(port), host);
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(from);
        from.on('data', (chunk) => forwards && to.write(chunk));
        from.on('error', () => to.destroy());
        from.on('close', () => {
          sockets.delete(from);
          to.destroy();
        });
      }
    }),
  );
  const closeConnections = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: `127.0.0.1:${server.port}`,
    blackHole() {
      forwards = false;
    },
    restore() {
      forwards = true;
      closeConnections();
    },
    stop() {
      void server.close();
      closeConnections();
    },
  };
}
