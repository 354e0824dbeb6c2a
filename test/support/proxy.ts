import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

export interface Proxy {
  address: string;
  /** From now on takes everything and passes on nothing, as a network that drops packets. */
  blackHole(): void;
  /** From now on passes on what comes over new connections; the old ones are gone. */
  restore(): void;
  stop(): void;
}

/** A TCP proxy in front of `address` (host:port). */
export async function startProxy(address: string): Promise<Proxy> {
  const [host = '', port = ''] = address.split(':');
  const sockets = new Set<Socket>();
  let open = true;
  const server = createServer((near) => {
    const far = connect(Number(port), host);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => open && to.write(chunk));
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    blackHole() {
      open = false;
    },
    restore() {
      open = true;
      for (const socket of sockets) socket.destroy();
    },
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
