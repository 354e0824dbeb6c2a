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
    // The bytes that are signed are sent: Koa would serialize an object later.
    const isObject = typeof ctx.body === 'object' && ctx.body !== null && !Buffer.isBuffer(ctx.body);
    if (isObject) ctx.body = JSON.stringify(ctx.body);
    const body = Buffer.isBuffer(ctx.body) ? ctx.body : String(ctx.body ?? '');
    ctx.set(header, createHmac('sha256', apiKey).update(body).digest('base64'));
  };
}
