import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { clientNetwork } from './client-network';
import type { Context } from './context';

/** The part of the connections that one address may hold. */
const ADDRESS_PART = 1 / 10;
/** The part of the connections from which on a new connection closes a less useful one. */
const NEARLY_FULL = 9 / 10;

/** A client that repeats a request immediately gets one answer per second and connection. */
const ANSWER_DELAY_MS = 1000;
const delayed = new WeakSet<IncomingMessage>();

/** Delays the answer to a caller with too many requests. Its connection is the first to be closed if they run out. */
export async function delayAnswer({ req }: Pick<Context, 'req'>): Promise<void> {
  delayed.add(req);
  await delay(ANSWER_DELAY_MS);
}

const isDelayed = (request: IncomingMessage): boolean => delayed.has(request);

/** True while the client sends the body; false if Node has paused reading because the service has not started to. */
const isArriving = ({ complete, readableLength, readableHighWaterMark }: IncomingMessage): boolean =>
  !complete && readableLength < readableHighWaterMark;

/** Open connections that limit each other: all of them, or those of one address. */
class Connections {
  /** Those without a running request, the longest idle first. */
  private readonly idle = new Set<Socket>();
  /** The latest request of each other connection, the oldest first. */
  private readonly busy = new Map<Socket, IncomingMessage>();

  get size(): number {
    return this.idle.size + this.busy.size;
  }

  setIdle(socket: Socket): void {
    this.busy.delete(socket);
    this.idle.add(socket);
  }

  setBusy(socket: Socket, request: IncomingMessage): void {
    this.remove(socket);
    this.busy.set(socket, request);
  }

  isLatest(socket: Socket, request: IncomingMessage): boolean {
    return this.busy.get(socket) === request;
  }

  remove(socket: Socket): void {
    this.idle.delete(socket);
    this.busy.delete(socket);
  }

  findLeastUseful(): Socket | undefined {
    const [longestIdle] = this.idle;
    return this.findBusy(isDelayed) ?? longestIdle ?? this.findBusy(isArriving);
  }

  private findBusy(isUseless: (request: IncomingMessage) => boolean): Socket | undefined {
    for (const [socket, request] of this.busy) if (isUseless(request)) return socket;
    return undefined;
  }
}

/**
 * Keeps connections available. One address gets a tenth of them. If those of an address are used up, or nearly all are,
 * a new connection closes one whose answer is delayed, or else the one that has been without a request for the longest
 * time, or else the one whose request takes longest to arrive. A new connection is refused if its address has none of
 * them.
 */
export function guardConnections(
  server: Server,
  { maxConnections, isBehindProxy = false }: { maxConnections: number; isBehindProxy?: boolean | undefined },
): void {
  const maxPerAddress = isBehindProxy ? Infinity : Math.ceil(maxConnections * ADDRESS_PART);
  const all = new Connections();
  const addresses = new Map<string, Connections>();
  /** The groups that each connection belongs to. */
  const groups = new WeakMap<Socket, Connections[]>();
  const inGroups = (socket: Socket, change: (group: Connections) => void): void => groups.get(socket)?.forEach(change);

  server.on('connection', (socket: Socket) => {
    const address = clientNetwork(socket.remoteAddress ?? '');
    const ofAddress = addresses.get(address) ?? new Connections();
    const isAddressFull = ofAddress.size >= maxPerAddress;
    const isNearlyFull = all.size + 1 > maxConnections * NEARLY_FULL;
    const crowded = isAddressFull ? ofAddress : isNearlyFull ? all : undefined;
    const victim = crowded?.findLeastUseful();
    if (isAddressFull && !victim) {
      socket.destroy();
      return;
    }
    if (victim) {
      // Before its close event: another connection that arrives until then closes the next one.
      inGroups(victim, (group) => group.remove(victim));
      victim.destroy();
    }
    addresses.set(address, ofAddress);
    groups.set(socket, [all, ofAddress]);
    inGroups(socket, (group) => group.setIdle(socket));
    socket.once('close', () => {
      inGroups(socket, (group) => group.remove(socket));
      if (ofAddress.size === 0 && addresses.get(address) === ofAddress) addresses.delete(address);
    });
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    if (socket.destroyed) return;
    inGroups(socket, (group) => group.setBusy(socket, request));
    response.once('close', () => {
      if (socket.destroyed || !all.isLatest(socket, request)) return;
      inGroups(socket, (group) => group.setIdle(socket));
    });
  });
}
