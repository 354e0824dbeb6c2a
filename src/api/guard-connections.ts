import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { clientNetwork } from './client-network';

/** The part of the connections that one address may hold. */
const ADDRESS_PART = 1 / 10;
/** The part of the connections from which on a new connection closes an idle one. */
const NEARLY_FULL = 9 / 10;

/**
 * Keeps connections available: one address gets a tenth of them, and if they are nearly used up, a new connection closes
 * the one that has been without a request for the longest time.
 */
export function guardConnections(
  server: Server,
  { maxConnections, isBehindProxy = false }: { maxConnections: number; isBehindProxy?: boolean | undefined },
): void {
  const perAddress = new Map<string, number>();
  const maxPerAddress = isBehindProxy ? Infinity : Math.ceil(maxConnections * ADDRESS_PART);
  /** The connections without a running request, the longest idle first. */
  const idle = new Set<Socket>();
  let open = 0;

  server.on('connection', (socket: Socket) => {
    const address = clientNetwork(socket.remoteAddress ?? '');
    const held = perAddress.get(address) ?? 0;
    if (held >= maxPerAddress) {
      socket.destroy();
      return;
    }
    perAddress.set(address, held + 1);
    open++;
    const [longestIdle] = idle;
    if (longestIdle && open > maxConnections * NEARLY_FULL) {
      // Before its close event: another connection that arrives until then closes the next one.
      idle.delete(longestIdle);
      longestIdle.destroy();
    }
    idle.add(socket);
    socket.once('close', () => {
      open--;
      idle.delete(socket);
      const left = (perAddress.get(address) ?? 1) - 1;
      if (left > 0) perAddress.set(address, left);
      else perAddress.delete(address);
    });
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    idle.delete(socket);
    response.once('close', () => {
      if (!socket.destroyed) idle.add(socket);
    });
  });
}
