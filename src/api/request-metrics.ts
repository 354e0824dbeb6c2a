import { METHODS } from 'node:http';
import type { Middleware } from 'koa';
import { httpDuration, httpProblems, httpRequests, orderReads } from '../telemetry/metrics';
import { routeOf } from '../telemetry/route';
import type { State } from './context';

/** Counts requests, their durations, the codes of their problems, and the sources of reads. */
export function requestMetrics(): Middleware<State> {
  return async (ctx, next) => {
    const end = httpDuration.startTimer();
    try {
      await next();
    } finally {
      const method = knownMethod(ctx.method);
      const route = routeOf(ctx);
      const { problemCode } = ctx.state;
      const source = ctx.response.get('Order-Source');
      end({ method, route });
      httpRequests.inc({ method, route, status: ctx.status });
      if (problemCode !== undefined) httpProblems.inc({ status: ctx.status, code: problemCode });
      if (source !== '') orderReads.inc({ source });
    }
  };
}

/** Node's parser also accepts the methods of RTSP. */
const knownMethod = (method: string): string => (METHODS.includes(method) ? method : 'other');
