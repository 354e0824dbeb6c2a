/**
 * The request, or the CLI command, that work is done for. It is passed on to workflows and activities, for logs and
 * traces.
 */
export interface RequestContext {
  requestId?: string | undefined;
  /** W3C Trace Context: of the caller, if it sent a valid one, or of our own span. */
  traceparent?: string | undefined;
}

/** The Temporal header that carries a RequestContext. */
export const REQUEST_CONTEXT_HEADER = 'request-context';

/** W3C Trace Context, version 00: version-traceid-parentid-flags. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Returns the trace id; undefined if the value is not a valid `traceparent`. */
export function traceIdOf(traceparent: string | null | undefined): string | undefined {
  return TRACEPARENT.exec(traceparent ?? '')?.[1];
}
