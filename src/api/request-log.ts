import { randomUUID } from 'node:crypto';
import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import type { State } from './context';

const VALID_ID = /^[\w.:/+=-]{1,128}$/;
/** W3C Trace Context, version 00: version-traceid-parentid-flags. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** A pay link gives access to the order's checkout, so the log omits it; the line has the order's id. Paths match in any case. */
const PAY_LINK = /^(.*\/pay(?:_link)?\/)[^/]+/i;

/**
 * Sets the request's id (the client's `X-Request-Id` if it is valid) and writes one log line per request, without query,
 * body or key.
 */
export function requestLog(log: Logger): Middleware<State> {
  return async (ctx, next) => {
    const start = performance.now();
    const given = ctx.get('X-Request-Id');
    const requestId = VALID_ID.test(given) ? given : randomUUID();
    const traceId = TRACEPARENT.exec(ctx.get('traceparent'))?.[1];
    ctx.state.requestId = requestId;
    ctx.state.log = log.child({ request_id: requestId, ...(traceId && { trace_id: traceId }) });
    ctx.set('X-Request-Id', requestId);
    try {
      await next();
    } finally {
      const { orderId, caller } = ctx.state;
      // Load balancers send a health check every few seconds.
      const level = ctx.path.startsWith('/health/') && ctx.status === 200 ? 'debug' : 'info';
      ctx.state.log[level](
        {
          method: ctx.method,
          path: ctx.path.replace(PAY_LINK, '$1…'),
          status: ctx.status,
          duration_ms: Math.round(performance.now() - start),
          ...(orderId && { order_id: orderId }),
          ...(caller?.kind === 'seller' && { seller_id: caller.seller.id }),
        },
        'request',
      );
    }
  };
}
