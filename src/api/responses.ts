import { createHmac } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Middleware } from 'koa';
import { Problem, PROBLEM_TYPE, unavailable } from '../contracts/problem';
import { isDatabaseUnavailable } from '../db/database-errors';
import type { State } from './context';

/** Responses contain a seller's data. Files that may be cached set their own header. */
const STANDARD_HEADERS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

/**
 * Sets the headers of every response, and renders every error of the middlewares below it as
 * `application/problem+json`.
 * @param publicUrl the URL of the API as callers see it
 */
export function renderProblems(publicUrl?: string): Middleware<State> {
  return async (ctx, next) => {
    ctx.set(STANDARD_HEADERS);
    try {
      await next();
    } catch (error) {
      // Authentication sets the caller before any write.
      const readOnly = ctx.method === 'GET' || ctx.method === 'HEAD' || ctx.state.caller === undefined;
      const problem = toProblem(error, readOnly);
      if (problem.status >= 500)
        ctx.state.log.error({ err: problem.cause ?? error, code: problem.code }, 'request failed');
      ctx.state.problemCode = problem.code;
      ctx.status = problem.status;
      ctx.set({ ...problem.headers, ...STANDARD_HEADERS });
      ctx.body = problem.toBody(ctx.path, ctx.state.requestId, publicUrl);
      ctx.type = PROBLEM_TYPE;
    }
  };
}

function toProblem(error: unknown, readOnly: boolean): Problem {
  if (error instanceof Problem) return error;
  if (isDatabaseUnavailable(error)) {
    const detail = readOnly
      ? 'The database is unavailable. Nothing changed. Repeating the call is safe.'
      : 'The database is unavailable, and the outcome is unknown. Repeating the same call is safe.';
    return unavailable(detail, error);
  }
  return new Problem('internal_error', undefined, { cause: error });
}

/**
 * Adds a header with the base64 HMAC-SHA256 of the exact body, keyed by the caller's API key, to every authenticated
 * response except a stream, whose end is not known. Some shop plugins verify it.
 */
export function signResponses(header: string): Middleware<State> {
  return async (ctx, next) => {
    await next();
    const { apiKey } = ctx.state;
    if (apiKey === undefined || ctx.body instanceof Readable) return;
    // The bytes that are signed are sent: Koa would serialize an object later.
    const isObject = typeof ctx.body === 'object' && ctx.body !== null && !Buffer.isBuffer(ctx.body);
    if (isObject) ctx.body = JSON.stringify(ctx.body);
    const body = Buffer.isBuffer(ctx.body) ? ctx.body : String(ctx.body ?? '');
    ctx.set(header, createHmac('sha256', apiKey).update(body).digest('base64'));
  };
}
