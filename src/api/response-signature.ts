import { createHmac } from 'node:crypto';
import type { Middleware } from 'koa';
import type { State } from './context';

/**
 * Adds a header with the base64 HMAC-SHA256 of the exact body, keyed by the caller's API key, to every authenticated
 * response. Some shop plugins verify it.
 */
export function signResponses(header: string): Middleware<State> {
  return async (ctx, next) => {
    await next();
    const { apiKey } = ctx.state;
    if (apiKey === undefined) return;
    // `sendJson` has serialized the body, and a compressed one is a buffer: the signature covers exactly the bytes
    // sent.
    const body = Buffer.isBuffer(ctx.body) ? ctx.body : String(ctx.body ?? '');
    ctx.set(header, createHmac('sha256', apiKey).update(body).digest('base64'));
  };
}
