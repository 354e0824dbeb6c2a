import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { clientNetwork } from './client-network';

/** The part of the connections that one address may hold. */
const ADDRESS_PART = 1 / 10;
/** The part of the connections from which on a new connection closes an idle one. */
const NEARLY_FULL = 9 / 10;

/** True while the client sends the body; false if Node has paused reading because the service has not started to. */
const isArriving = ({ complete, readableLength, readableHighWaterMark }: IncomingMessage): boolean =>
  !complete && readableLength < readableHighWaterMark;

/**
 * Keeps connections available: one address gets a tenth of them, and if they are nearly used up, a new connection closes
 * the one that has been without a request for the longest time, or else the one whose request takes longest to arrive.
 */
export function guardConnections(
  server: Server,
  { maxConnections, isBehindProxy = false }: { maxConnections: number; isBehindProxy?: boolean | undefined },
): void {
  const perAddress = new Map<string, number>();
  const maxPerAddress = isBehindProxy ? Infinity : Math.ceil(maxConnections * ADDRESS_PART);
  /** The connections without a running request, the longest idle first. */
  const idle = new Set<Socket>();
  /** The latest request of each other connection, the oldest first. */
  const busy = new Map<Socket, IncomingMessage>();
  let open = 0;

  function findLeastUseful(): Socket | undefined {
    const [longestIdle] = idle;
    if (longestIdle) return longestIdle;
    for (const [socket, request] of busy) if (isArriving(request)) return socket;
    return undefined;
  }

  function forget(socket: Socket): void {
    idle.delete(socket);
    busy.delete(socket);
  }

  server.on('connection', (socket: Socket) => {
    const address = clientNetwork(socket.remoteAddress ?? '');
    const held = perAddress.get(address) ?? 0;
    if (held >= maxPerAddress) {
      socket.destroy();
      return;
    }
    perAddress.set(address, held + 1);
    open++;
    const victim = open > maxConnections * NEARLY_FULL ? findLeastUseful() : undefined;
    if (victim) {
      // Before its close event: another connection that arrives until then closes the next one.
      forget(victim);
      victim.destroy();
    }
    idle.add(socket);
    socket.once('close', () => {
      open--;
      forget(socket);
      const left = (perAddress.get(address) ?? 1) - 1;
      if (left > 0) perAddress.set(address, left);
      else perAddress.delete(address);
    });
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    if (socket.destroyed) return;
    forget(socket);
    busy.set(socket, request);
    response.once('close', () => {
      if (socket.destroyed || busy.get(socket) !== request) return;
      forget(socket);
      idle.add(socket);
    });
  });
}
