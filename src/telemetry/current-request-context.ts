import { AsyncLocalStorage } from 'node:async_hooks';
import { trace } from '@opentelemetry/api';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { RequestContext } from '../domain/order';
import { traceIdOf } from '../domain/text';

const storage = new AsyncLocalStorage<RequestContext>();

/** Runs `work`, and everything that it starts, for a request. */
export function withRequestContext<T>(context: RequestContext | undefined, work: () => T): T {
  return context ? storage.run(context, work) : work();
}

/** What the running code works for. With tracing on, its `traceparent` is that of the active span. */
export function currentRequestContext(): RequestContext | undefined {
  const context = storage.getStore();
  const traceparent = activeTraceparent() ?? context?.traceparent;
  return traceparent === undefined ? context : { ...context, traceparent };
}

/** Of the active span; undefined if tracing is off. */
export function activeTraceparent(): string | undefined {
  const span = trace.getActiveSpan()?.spanContext();
  return span && `00-${span.traceId}-${span.spanId}-0${span.traceFlags.toString(16)}`;
}

/** The fields of a log line that connect it to a request. */
export function requestContextFields(
  context:
    | { requestId?: string | null | undefined; traceparent?: string | null | undefined }
    | undefined = currentRequestContext(),
): { request_id?: string; trace_id?: string } {
  const traceId = traceIdOf(context?.traceparent);
  return {
    ...(context?.requestId != null && { request_id: context.requestId }),
    ...(traceId && { trace_id: traceId }),
  };
}

/** Runs an activity in the request context that its input names, and adds it to the activity's log lines. */
export const receiveRequestContext: ActivityInterceptorsFactory = () => ({
  inbound: {
    execute(input, next) {
      const [request] = input.args as [{ context?: RequestContext } | undefined];
      return withRequestContext(request?.context, () => next(input));
    },
  },
  outbound: {
    getLogAttributes: (input, next) => next({ ...input, ...requestContextFields() }),
  },
});
