import { AsyncLocalStorage } from 'node:async_hooks';
import { type RequestContext, traceIdOf } from '../domain/request-context';
import { tracing } from './tracing';

const storage = new AsyncLocalStorage<RequestContext>();

/** Runs `work`, and everything that it starts, for a request. */
export function withRequestContext<T>(context: RequestContext | undefined, work: () => T): T {
  return context ? storage.run(context, work) : work();
}

/** What the running code works for. With tracing on, its `traceparent` is that of the active span. */
export function currentRequestContext(): RequestContext | undefined {
  const context = storage.getStore();
  const traceparent = tracing()?.activeTraceparent() ?? context?.traceparent;
  return traceparent === undefined ? context : { ...context, traceparent };
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
