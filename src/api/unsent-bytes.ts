import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../contracts/problem';
import { largestEntry } from '../concurrency/fair-queue';
import { clientNetwork } from './client-network';
import type { Context, Next } from './context';

const MIB = 1024 * 1024;

export interface UnsentLimits {
  perCaller: number;
  perProcess: number;
}

export type UnsentLimit = ReturnType<typeof createUnsentLimit>;

/** A process with these limits needs little memory for clients that do not read. */
export const UNSENT_LIMITS: UnsentLimits = { perCaller: 4 * MIB, perProcess: 32 * MIB };

/**
 * Limits the memory that responses use until their clients read them. A caller over its limit gets a 429. If all
 * responses together exceed the process's limit, the connections of the caller with most of it are closed, the oldest
 * first.
 */
export function createUnsentLimit(limits: UnsentLimits) {
  /** In the order in which they began to wait. */
  const responses = new Map<ServerResponse, { socket: Socket; bytes: number; caller: string }>();
  const perCaller = new Map<string, number>();
  const perConnection = new WeakMap<Socket, Set<ServerResponse>>();
  let total = 0;

  function add(response: ServerResponse, socket: Socket, caller: string): void {
    const bytes = response.writableLength;
    if (bytes === 0) return;
    responses.set(response, { socket, bytes, caller });
    change(bytes, caller);
    while (total > limits.perProcess) closeOldestOfGreediest();
  }

  function closeOldestOfGreediest(): void {
    const [greediest] = largestEntry(perCaller, (bytes) => bytes) ?? [];
    for (const [response, { socket, caller }] of responses) {
      if (caller !== greediest) continue;
      remove(response);
      socket.destroy();
      return;
    }
  }

  function remove(response: ServerResponse): void {
    const entry = responses.get(response);
    if (entry && responses.delete(response)) change(-entry.bytes, entry.caller);
  }

  function change(bytes: number, caller: string): void {
    total += bytes;
    const held = (perCaller.get(caller) ?? 0) + bytes;
    if (held > 0) perCaller.set(caller, held);
    else perCaller.delete(caller);
  }

  /** Removes the response when it or its connection ends: Node closes only the first of several pipelined responses. */
  function removeAtEnd(response: ServerResponse, socket: Socket): void {
    let open = perConnection.get(socket);
    if (!open) {
      const all = (open = new Set<ServerResponse>());
      perConnection.set(socket, all);
      socket.once('close', () => all.forEach(remove));
    }
    const pipelined = open.add(response);
    response.once('close', () => {
      pipelined.delete(response);
      remove(response);
    });
  }

  return {
    /** A middleware that measures what the connection still has to send after Koa has written the response. */
    measure: async (ctx: Context, next: Next): Promise<void> => {
      const { res, socket } = ctx;
      removeAtEnd(res, socket);
      try {
        await next();
      } finally {
        setImmediate(() => {
          if (!socket.destroyed && !res.closed) add(res, socket, nameOf(ctx));
        });
      }
    },

    /**
     * A middleware for callers whose responses are large.
     * @throws Problem `rate_limited`
     */
    check: async (ctx: Pick<Context, 'state' | 'ip'>, next: Next): Promise<void> => {
      if ((perCaller.get(nameOf(ctx)) ?? 0) <= limits.perCaller) {
        await next();
        return;
      }
      const detail = 'Your connections have too many unread responses. Nothing changed. Read them, then retry in 1 s.';
      throw new Problem('rate_limited', detail, { retryAfterS: 1 });
    },
  };
}

/** The seller, the checkout, or the address of a caller without a key. */
function nameOf({ state: { caller }, ip }: Pick<Context, 'state' | 'ip'>): string {
  if (caller) return caller.kind === 'seller' ? caller.seller.id : caller.kind;
  return clientNetwork(ip);
}
