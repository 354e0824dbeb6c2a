import type { Middleware } from 'koa';
import { stringify } from '../contracts/verbatim-json';
import type { State } from './context';

/** Serializes response bodies. Koa would do it with JSON.stringify, which does not know `verbatim` text. */
export function sendJson(): Middleware<State> {
  return async (ctx, next) => {
    await next();
    const body: unknown = ctx.body;
    if (typeof body === 'object' && body !== null && !Buffer.isBuffer(body)) ctx.body = stringify(body);
  };
}
