import type { Socket } from 'node:net';
import { setImmediate as nextLoopIteration } from 'node:timers/promises';
import { FairQueue, largestEntry } from '../concurrency/fair-queue';
import { clientNetwork } from './client-network';
import type { Context, Next } from './context';

/** The maximum number of requests that wait in a process. Each takes a few KB. */
const MAX_WAITING = 5000;
/**
 * The status, for log and metrics, of a request without a response: the caller or the service has closed its
 * connection.
 */
export const CLIENT_GONE = 499;
const HEALTH_CHECK = /^\/health\/(live|ready|serving)\/?$/;

/** Whether the caller has closed the connection, or its half of it: after that, Node sends no response. */
const isGone = ({ destroyed, readableEnded }: Socket): boolean => destroyed || readableEnded;

interface Waiting {
  socket: Socket;
  begin: () => void;
}

/**
 * Creates a middleware that begins one request in each turn of the event loop. Addresses take turns, and so do the
 * connections of an address. So a flood of requests waits for itself: a request from another address begins soon, and
 * those that have begun share the process with few new ones. Health checks do not wait. If too many requests wait, the
 * connection with most of them at the address with most of them is closed.
 */
export function queueFairly() {
  const waiting = new WaitingRequests();
  let hasBegun = false;

  function beginNext(): void {
    let next = waiting.shift();
    for (; next && isGone(next.socket); next = waiting.shift()) next.begin();
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
        waiting.push(clientNetwork(ctx.ip), { socket, begin });
        if (waiting.size > MAX_WAITING) waiting.dropLargest();
      });
    }
    if (isGone(socket)) ctx.status = CLIENT_GONE;
    else await next();
  };
}

/**
 * Ends a change whose caller has gone. After a pause of this process, Node reads a call before it sees, a turn of the
 * event loop later, that its caller has given up and has perhaps repeated it elsewhere.
 */
export async function dropAbandoned(ctx: Pick<Context, 'method' | 'socket' | 'status'>, next: Next): Promise<void> {
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
    await nextLoopIteration();
    await nextLoopIteration();
  }
  if (isGone(ctx.socket)) ctx.status = CLIENT_GONE;
  else await next();
}

/** Requests that wait, by address and connection. */
class WaitingRequests {
  private readonly addresses = new Map<string, FairQueue<Waiting, Socket>>();
  size = 0;

  push(address: string, request: Waiting): void {
    const requests = this.addresses.get(address) ?? new FairQueue<Waiting, Socket>();
    requests.push(request.socket, request);
    this.addresses.set(address, requests);
    this.size += 1;
  }

  /** Removes the first request of the connection whose turn it is, at the address whose turn it is. */
  shift(): Waiting | undefined {
    const [first] = this.addresses;
    if (!first) return undefined;
    const [address, requests] = first;
    const request = requests.shift();
    this.size -= 1;
    this.addresses.delete(address);
    // To the end of the queue.
    if (requests.size > 0) this.addresses.set(address, requests);
    return request;
  }

  /** Closes the connection with most requests, at the address with most of them, and ends these requests. */
  dropLargest(): void {
    const [address, requests] = largestEntry(this.addresses, ({ size }) => size) ?? [];
    if (address === undefined || !requests) return;
    const dropped = requests.shiftLargest();
    if (requests.size === 0) this.addresses.delete(address);
    this.size -= dropped.length;
    for (const { socket, begin } of dropped) {
      socket.destroy();
      begin();
    }
  }
}
