import { randomUUID } from 'node:crypto';
import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import { isRequestId, traceIdOf } from '../domain/text';
import { requestContextFields, withRequestContext } from '../telemetry/current-request-context';
import type { State } from './context';
import { httpDuration, httpProblems, httpRequests, orderReads, routeOf } from '../telemetry/metrics';

/** Parts of our own paths. A pay link is longer than eight characters, and has digits. */
const HARMLESS = /^([a-z_.-]*|.{1,8})$/;

/**
 * The path as it is logged. A pay link gives access to the order's checkout, and a wrong path may contain one anywhere.
 * Eight characters are enough to find an id in other logs, and too little to use it.
 */
const loggedPath = (path: string): string =>
  path
    .split('/')
    .map((segment) => (HARMLESS.test(segment) ? segment : `${segment.slice(0, 8)}…`))
    .join('/');

/**
 * Sets the request's id (the client's `X-Request-Id` if it is valid), writes one log line per request, without query,
 * body or key, and counts requests, their durations, the codes of their problems, and the sources of reads.
 */
export function requestTelemetry(log: Logger): Middleware<State> {
  return async (ctx, next) => {
    const end = httpDuration.startTimer();
    const given = ctx.get('X-Request-Id');
    const requestId = isRequestId(given) ? given : randomUUID();
    const traceparent = ctx.get('traceparent');
    const context = { requestId, ...(traceIdOf(traceparent) && { traceparent }) };
    ctx.state.requestId = requestId;
    ctx.state.log = log.child(withRequestContext(context, () => requestContextFields()));
    ctx.set('X-Request-Id', requestId);
    try {
      await withRequestContext(context, next);
    } finally {
      // Node's parser knows a fixed set of methods.
      const { method, path, status, state } = ctx;
      const { orderId, caller, problemCode } = state;
      const route = routeOf(ctx);
      const seconds = end({ method, route });
      httpRequests.inc({ method, route, status });
      if (problemCode !== undefined) httpProblems.inc({ status, code: problemCode });
      const source = ctx.response.get('Order-Source');
      if (source !== '') orderReads.inc({ source });
      // Load balancers send a health check every few seconds.
      const level = path.startsWith('/health/') && status === 200 ? 'debug' : 'info';
      state.log[level](
        {
          method,
          path: loggedPath(path),
          status,
          duration_ms: Math.round(seconds * 1000),
          ...(orderId && { order_id: orderId }),
          ...(caller?.kind === 'seller' && { seller_id: caller.seller.id }),
        },
        'request',
      );
    }
  };
}
