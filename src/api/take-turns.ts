import type { Socket } from 'node:net';
import { clientNetwork } from './client-network';
import type { Context, Next } from './context';

/** The maximum number of requests that wait in a process. Each takes a few KB. */
const MAX_WAITING = 5000;
/** The status of a request whose connection was closed before it began, for log and metrics. */
const CLIENT_GONE = 499;
const HEALTH_CHECK = /^\/health\/(live|ready|serving)\/?$/;

type Begin = () => void;

/**
 * Creates a middleware that begins one request in each turn of the event loop. Addresses take turns, and so do the connections
 * of an address. So a flood of requests waits for itself: a request from another address begins soon, and those that have begun
 * share the process with few new ones. Health checks do not wait. If too many requests wait, the connection with most of them
 * at the address with most of them is closed.
 */
export function takeTurns() {
  const waiting = new WaitingRequests();
  let hasBegun = false;

  function beginNext(): void {
    let next = waiting.shift();
    for (; next?.socket.destroyed; next = waiting.shift()) next.begin();
    hasBegun = next !== undefined;
    if (!next) return;
    setImmediate(beginNext);
    next.begin();
  }

  return async (ctx: Pick<Context, 'ip' | 'path' | 'socket' | 'status'>, next: Next): Promise<void> => {
    const { socket } = ctx;
    if (!hasBegun) {
      hasBegun = true;
      setImmediate(beginNext);
    } else if (!HEALTH_CHECK.test(ctx.path)) {
      await new Promise<void>((begin) => {
        waiting.push(clientNetwork(ctx.ip), socket, begin);
        if (waiting.size > MAX_WAITING) waiting.dropLargest();
      });
    }
    if (socket.destroyed) ctx.status = CLIENT_GONE;
    else await next();
  };
}

class WaitingRequests {
  private readonly addresses = new Map<string, Map<Socket, Begin[]>>();
  size = 0;

  push(address: string, socket: Socket, begin: Begin): void {
    const sockets = this.addresses.get(address) ?? new Map<Socket, Begin[]>();
    const requests = sockets.get(socket) ?? [];
    requests.push(begin);
    sockets.set(socket, requests);
    this.addresses.set(address, sockets);
    this.size += 1;
  }

  /** Removes the first request of the connection whose turn it is. */
  shift(): { socket: Socket; begin: Begin } | undefined {
    const [first] = this.addresses;
    if (!first) return undefined;
    const [address, sockets] = first;
    const [[socket, requests] = []] = sockets;
    const begin = requests?.shift();
    if (!socket || !requests || !begin) throw new Error('an address without requests waits');
    this.size -= 1;
    // Both to the end of their queues.
    sockets.delete(socket);
    if (requests.length > 0) sockets.set(socket, requests);
    this.addresses.delete(address);
    if (sockets.size > 0) this.addresses.set(address, sockets);
    return { socket, begin };
  }

  /** Closes the connection with most requests, at the address with most of them, and ends these requests. */
  dropLargest(): void {
    const countOf = (sockets: Map<Socket, Begin[]>): number =>
      [...sockets.values()].reduce((sum, { length }) => sum + length, 0);
    const [address, sockets] = largest(this.addresses, countOf);
    const [socket, requests] = largest(sockets, ({ length }) => length);
    sockets.delete(socket);
    if (sockets.size === 0) this.addresses.delete(address);
    this.size -= requests.length;
    socket.destroy();
    for (const begin of requests) begin();
  }
}

/** Returns the entry with the largest value. The map must have one. */
function largest<K, V>(map: ReadonlyMap<K, V>, sizeOf: (value: V) => number): [K, V] {
  return [...map].reduce((one, other) => (sizeOf(other[1]) > sizeOf(one[1]) ? other : one));
}
