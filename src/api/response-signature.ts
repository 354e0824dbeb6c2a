import { createHmac } from 'node:crypto';
import type { Middleware } from 'koa';
import type { State } from './context';

/**
 * Puts base64 HMAC-SHA256 of the exact body, keyed by the API key that was presented, into a header of every
 * authenticated answer: some shop plugins verify what they are answered.
 */
export function signResponses(header: string): Middleware<State> {
  return async (ctx, next) => {
    await next();
    const { apiKey } = ctx.state;
    if (apiKey === undefined) return;
    // What Koa would make of it, made here, so that what is signed is what is sent.
    const body = JSON.stringify(ctx.body);
    ctx.body = body;
    ctx.set(header, createHmac('sha256', apiKey).update(body).digest('base64'));
  };
}
