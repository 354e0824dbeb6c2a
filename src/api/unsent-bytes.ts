import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../contracts/problem';
import type { Caller } from '../db/sellers';
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
 * Limits the memory that responses use until their clients read them. A caller over its limit gets a 429. If all responses
 * together exceed the process's limit, the connections that have been waiting for the longest time are closed.
 */
export function createUnsentLimit(limits: UnsentLimits) {
  /** In the order in which they began to wait. */
  const responses = new Map<ServerResponse, { socket: Socket; bytes: number; caller: string | undefined }>();
  const perCaller = new Map<string, number>();
  let total = 0;

  function add(response: ServerResponse, socket: Socket, caller: string | undefined): void {
    const bytes = response.writableLength;
    if (bytes === 0) return;
    responses.set(response, { socket, bytes, caller });
    change(bytes, caller);
    for (const [oldest, { socket: stalled }] of responses) {
      if (total <= limits.perProcess) return;
      remove(oldest);
      stalled.destroy();
    }
  }

  function remove(response: ServerResponse): void {
    const entry = responses.get(response);
    if (entry && responses.delete(response)) change(-entry.bytes, entry.caller);
  }

  function change(bytes: number, caller: string | undefined): void {
    total += bytes;
    if (caller === undefined) return;
    const held = (perCaller.get(caller) ?? 0) + bytes;
    if (held > 0) perCaller.set(caller, held);
    else perCaller.delete(caller);
  }

  return {
    /** A middleware that measures what the connection still has to send after Koa has written the response. */
    measure: async ({ res, socket, state }: Context, next: Next): Promise<void> => {
      res.once('close', () => remove(res));
      try {
        await next();
      } finally {
        setImmediate(() => {
          if (!socket.destroyed && !res.closed) add(res, socket, state.caller && nameOf(state.caller));
        });
      }
    },

    /** @throws Problem `rate_limited` */
    check: (caller: Caller): void => {
      if ((perCaller.get(nameOf(caller)) ?? 0) <= limits.perCaller) return;
      const detail = 'Your connections have too many unread responses. Nothing changed. Read them, then retry in 1 s.';
      throw new Problem('rate_limited', detail, { headers: { 'Retry-After': '1' } });
    },
  };
}

const nameOf = (caller: Caller): string => (caller.kind === 'seller' ? caller.seller.id : caller.kind);
