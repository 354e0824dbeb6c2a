import type { Socket } from 'node:net';
import { FairQueue } from '../orders/fair-queue';
import { clientNetwork } from './client-network';
import type { Context, Next } from './context';

/** Requests of one address that wait; its further ones lose their connection. */
const MAX_WAITING = 2000;
/** The status of a request whose client has gone, for log and metrics. */
const CLIENT_GONE = 499;

interface Waiting {
  socket: Socket;
  begin: () => void;
}

/**
 * Creates a middleware that begins one request in each turn of the event loop, and lets addresses take turns. So a flood of
 * requests waits for itself: a request from another address begins soon, and those that have begun share the process with
 * few new ones. Health checks do not wait. A request whose client has gone is dropped.
 */
export function takeTurns() {
  const waiting = new FairQueue<Waiting>();
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
    } else if (!ctx.path.startsWith('/health/')) {
      const address = clientNetwork(ctx.ip);
      if (waiting.sizeOf(address) >= MAX_WAITING) socket.destroy();
      else await new Promise<void>((begin) => waiting.push(address, { socket, begin }));
    }
    if (socket.destroyed) ctx.status = CLIENT_GONE;
    else await next();
  };
}
